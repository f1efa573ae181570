import { runSql, sql, type Sql } from '../db/sql.js';
import { violatedUniqueConstraint, type Db } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import type { CallUsage } from '../models/content.js';
import { priceCall, type CalledModel } from './called-model.js';
import type { MODEL_FAILURE_TYPES } from '../events/fields.js';
import { startClock } from '../turns/totals.js';
import { OvertakenError, TurnEndedError, type ActivityTask } from '../turns/turn.js';
import { open, running, writeTurn, type TurnDeps, type TurnWrite } from '../turns/write.js';
import { beginWithSteering, SteeringChangedError } from './steering.js';

/** One model call, recorded before it is sent. Its deltas and its usage refer to it. */
export interface ModelCall {
  turnId: string;
  sessionId: string;
  projectId: string;
  model: CalledModel;
  step: number;
  /** The turn's last stored event when the call began. */
  position: number;
  /** Number of the attempt since that event. */
  attempt: number;
  /** Number of the call in its turn. */
  call: number;
  messageId: string;
  /** Failures of this call so far that are tried again, and the age of the first one. A call tried again is one call. */
  failures: number;
  failingForMs: number;
  /** Usage of this call that the turn's totals already include; null while it is in doubt whether a write was committed. */
  recorded: CallUsage | null;
}

/** Why the model failed. */
export interface ModelFailure {
  type: (typeof MODEL_FAILURE_TYPES)[number];
  /** The message for the client. It is never sent to Temporal. */
  message: string;
  /** True if sending the message again later may help. */
  retryable: boolean;
  /** The delay that the model's API asked for. */
  retryAfterMs?: number;
  /** The HTTP status of the API's answer, for operators. */
  status?: number;
}

/** The messages that wait to be given to the turn, as its request has them. */
export interface Steering {
  /** False if no message waited for the turn or behind it when it was read. */
  mayWait: boolean;
  ids: string[];
}

const NO_STEERING: Steering = { mayWait: false, ids: [] };

/** What the statement that begins a call returns of it. */
type Begun = Pick<ModelCall, 'sessionId' | 'projectId' | 'position' | 'attempt' | 'call' | 'failures' | 'failingForMs'>;

export const NO_USAGE: CallUsage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};

/**
 * Claims the turn and records a new model call, together with the messages that it is the first to see.
 * @param steering the ids of the messages in its request that still wait; null for a call that waits for none of them
 * @throws SteeringChangedError if other messages wait by now
 * @throws OvertakenError if another attempt has stored the step meanwhile, whose outcome needs no second call
 * @throws TurnEndedError if the turn has ended, or the tables lack the end of the previous step: they were restored
 * from a backup older than the workflow
 */
export async function beginModelCall(
  deps: TurnDeps,
  turnId: string,
  step: number,
  task: ActivityTask,
  model: CalledModel,
  steering: Steering | null = NO_STEERING,
): Promise<ModelCall> {
  const messageId = newId('message');
  const begin = beginWrite({ turnId, step, messageId, model }, task, steering?.mayWait === false);
  try {
    const { row } = steering?.mayWait
      ? await beginWithSteering<Begun>(deps, turnId, step, steering.ids, begin)
      : await writeTurn<Begun>(deps, turnId, begin);
    return { turnId, step, messageId, model, recorded: NO_USAGE, ...row };
  } catch (error) {
    if (error instanceof OvertakenError) {
      const turn = await readProgress(deps.db, turnId, step);
      if (turn?.hasStep) throw error;
      if (turn?.hasWaiting && steering?.mayWait === false) throw new SteeringChangedError();
      deps.log.warn(
        { turn_id: turnId, step },
        'the tables lack the step before a model call: they are older than the workflow',
      );
      throw new TurnEndedError(turnId);
    }
    // Another attempt, which should be dead, took the same number at the same moment.
    if (violatedUniqueConstraint(error) === 'model_attempts_pkey') {
      return beginModelCall(deps, turnId, step, task, model, steering);
    }
    throw error;
  }
}

/** @param noneMayWait refuse the call if messages may wait for it */
function beginWrite(
  { turnId, step, messageId, model }: Pick<ModelCall, 'turnId' | 'step' | 'messageId' | 'model'>,
  task: ActivityTask,
  noneMayWait: boolean,
): TurnWrite {
  const currency = model.price?.currency ?? null;
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id, position, has_waiting FROM turns WHERE ${open(turnId)} FOR NO KEY UPDATE),
      call AS (
        INSERT INTO model_attempts (turn_id, step, position, attempt, message_id, worker_id, task_token,
          model_id, cost, currency)
        SELECT turn.id, ${step}::integer, turn.position, 1 + coalesce(
          (SELECT max(attempt) FROM model_attempts a WHERE a.turn_id = turn.id AND a.position = turn.position), 0),
          ${messageId}, ${task.workerId}, ${task.token}::bytea, ${model.id}, ${priceCall(model, NO_USAGE)}::numeric,
          ${currency}
        FROM turn
        WHERE (${step}::integer = 1 OR EXISTS (
            SELECT FROM model_steps s WHERE s.turn_id = turn.id AND s.step = ${step}::integer - 1))
          AND NOT EXISTS (
            SELECT FROM tool_calls c WHERE c.turn_id = turn.id AND c.step = ${step}::integer - 1 AND c.state <> 'done')
          AND NOT EXISTS (SELECT FROM model_steps s WHERE s.turn_id = turn.id AND s.step = ${step}::integer)
          AND NOT (turn.has_waiting AND ${noneMayWait}::boolean)
        RETURNING turn_id, position, attempt, clock_timestamp() AS at),
      written AS (
        UPDATE turns SET state = 'running', started_at = coalesce(turns.started_at, call.at), progress_at = call.at,
          transition_at = CASE turns.state WHEN 'queued' THEN call.at ELSE turns.transition_at END,
          model_calls = turns.model_calls + 1, ${startClock('model', sql`call.at`)},
          currency = coalesce(turns.currency, ${currency}::text),
          is_unpriced = turns.is_unpriced OR ${currency}::text IS DISTINCT FROM coalesce(turns.currency, ${currency}::text)
            OR ${currency}::text IS NULL
        FROM call WHERE turns.id = call.turn_id
        RETURNING turns.id, session_id, project_id, number, call.position, attempt, model_calls)
    SELECT session_id AS "sessionId", project_id AS "projectId", position, attempt, model_calls AS call,
      failed.count AS failures, failed.ms AS "failingForMs"
    FROM written CROSS JOIN LATERAL (
      SELECT count(*)::integer AS count,
        coalesce(extract(epoch FROM clock_timestamp() - min(a.ended_at)) * 1000, 0)::double precision AS ms
      FROM model_attempts a
      WHERE a.turn_id = written.id AND a.step = ${step}::integer AND (a.error->>'retryable')::boolean
        -- A message that steers the turn between two attempts begins no other call; a compaction of the context does.
        AND a.position >= coalesce((
          SELECT e.position FROM events e
          WHERE e.session_id = written.session_id AND e.turn_number = written.number AND e.type <> 'user.message'
          ORDER BY e.position DESC LIMIT 1), 0)) AS failed`;
  return { statement };
}

interface Progress {
  hasStep: boolean;
  hasWaiting: boolean;
}

async function readProgress(db: Db, turnId: string, step: number): Promise<Progress | undefined> {
  const [row] = await runSql<Progress>(
    db,
    sql`SELECT has_waiting AS "hasWaiting",
          EXISTS (SELECT FROM model_steps WHERE turn_id = turns.id AND step = ${step}) AS "hasStep"
        FROM turns WHERE id = ${turnId}`,
  );
  return row;
}

/** Guards the outcome of a call: refuses it if another call has begun or the turn has moved on. */
export function callFence({ turnId, position, call }: ModelCall): Sql {
  return running(turnId, sql`position = ${position} AND model_calls = ${call}`);
}
