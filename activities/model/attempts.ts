import type { DataSource } from 'typeorm';
import { violatedUniqueConstraint } from '../../src/db/transaction.js';
import { newId } from '../../src/platform/ids.js';
import { TurnEndedError } from '../../src/turns/lock.js';
import type { Answer, CallUsage } from './stream.js';
import type { ModelFailure } from './failures.js';

/** One call of the model, registered before it leaves: what it streams and costs is known by it. */
export interface ModelAttempt {
  turnId: string;
  step: number;
  /** The turn's last stored event when the call began. */
  position: number;
  /** Which call it is since that event. */
  attempt: number;
  messageId: string;
  /** The model's own failures at this step so far, and how long ago the first one was. */
  failures: number;
  failingForMs: number;
}

/**
 * Registers a call.
 * @throws TurnEndedError when the turn does not run any more, or the tables lack the end of the step before: they were
 * restored from a backup that is older than the workflow, whose place in the turn is not theirs
 */
export async function beginAttempt(db: DataSource, turnId: string, step: number): Promise<ModelAttempt> {
  const messageId = newId('message');
  const began = db.query<{ position: number; attempt: number; failures: number; failing_ms: number | null }[]>(
    `INSERT INTO model_attempts (turn_id, step, position, attempt, message_id)
     SELECT id, $2, position,
       1 + coalesce((SELECT max(attempt) FROM model_attempts a WHERE a.turn_id = $1 AND a.position = turns.position), 0), $3
     FROM turns WHERE id = $1 AND state = 'running'
       AND ($2 = 1 OR EXISTS (SELECT FROM model_steps s WHERE s.turn_id = $1 AND s.step = $2 - 1))
       AND NOT EXISTS (SELECT FROM tool_calls c WHERE c.turn_id = $1 AND c.step = $2 - 1 AND c.state <> 'done')
     RETURNING position, attempt,
       (SELECT count(*) FROM model_attempts a WHERE a.turn_id = $1 AND a.step = $2 AND a.error IS NOT NULL) AS failures,
       (SELECT extract(epoch FROM clock_timestamp() - min(a.started_at)) * 1000 FROM model_attempts a
        WHERE a.turn_id = $1 AND a.step = $2 AND a.error IS NOT NULL)::integer AS failing_ms`,
    [turnId, step, messageId],
  );
  const rows = await began.catch((error: unknown) => {
    if (violatedUniqueConstraint(error) === 'model_attempts_pkey') return null;
    throw error;
  });
  // An attempt that should be dead took the number at the same moment.
  if (rows === null) return beginAttempt(db, turnId, step);
  const row = rows[0];
  if (row === undefined) throw new TurnEndedError(turnId);
  return {
    turnId,
    step,
    position: row.position,
    attempt: row.attempt,
    messageId,
    failures: row.failures,
    failingForMs: row.failing_ms ?? 0,
  };
}

/** Records what a call costs from its start, so that it counts although the process dies. */
export async function startAttempt(db: DataSource, attempt: ModelAttempt, usage: CallUsage): Promise<void> {
  await db.query(
    `UPDATE model_attempts SET usage = $4 WHERE turn_id = $1 AND position = $2 AND attempt = $3 AND usage IS NULL`,
    [attempt.turnId, attempt.position, attempt.attempt, JSON.stringify(usage)],
  );
}

/** Records what a call cost that ended without an outcome, and why, where the model itself failed. */
export async function endAttempt(
  db: DataSource,
  attempt: ModelAttempt,
  answer: Answer,
  failure: ModelFailure | null,
): Promise<void> {
  await db.query(
    `WITH ended AS (
       UPDATE model_attempts SET ended_at = clock_timestamp(), usage = $4, error = $5
       WHERE turn_id = $1 AND position = $2 AND attempt = $3 RETURNING started_at)
     UPDATE turns SET first_token_at = coalesce(first_token_at, ended.started_at + $6 * interval '1 ms')
     FROM ended WHERE id = $1 AND $6::double precision IS NOT NULL`,
    [
      attempt.turnId,
      attempt.position,
      attempt.attempt,
      JSON.stringify(answer.usage),
      failure === null ? null : JSON.stringify(failure),
      answer.firstTokenMs,
    ],
  );
}

/** The failure that the turn's last call met; null when that call did not fail: an earlier failure was got over. */
export async function lastModelFailure(db: DataSource, turnId: string): Promise<ModelFailure | null> {
  const [row]: { error: ModelFailure | null }[] = await db.query(
    'SELECT error FROM model_attempts WHERE turn_id = $1 ORDER BY started_at DESC LIMIT 1',
    [turnId],
  );
  return row?.error ?? null;
}
