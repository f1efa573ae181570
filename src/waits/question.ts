import type { Db } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { EventData } from '../events/schema.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { CallPlace } from '../turns/facts.js';
import type { Outcome } from './kinds/wait-kind.js';

type Closing = { id: string } | { step: number; index: number; expired?: boolean };

const CLOSE = `UPDATE waits SET state = 'closed', outcome = $2, closed_at = $3
  WHERE turn_id = $1 AND during_call AND state = 'open'`;
const CLOSE_ONE = `${CLOSE} AND id = $4`;
const CLOSE_OF_CALL = `${CLOSE} AND step = $4 AND index = $5 AND (NOT $6::boolean OR expires_at <= $3::timestamptz)`;

/**
 * Closes open questions of a turn without an answer, and lets their calls go on. Returns how many it closed.
 * @throws TurnEndedError
 */
export async function closeElicitations(
  deps: TurnDeps,
  turnId: string,
  which: Closing,
  outcome: 'expired' | 'withdrawn' | 'lost',
): Promise<number> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const values = [turnId, outcome, turn.at];
    const [, closed] =
      'id' in which
        ? await tx.query<[unknown, number]>(CLOSE_ONE, [...values, which.id])
        : await tx.query<[unknown, number]>(CLOSE_OF_CALL, [
            ...[...values, which.step, which.index, which.expired === true],
          ]);
    if (closed === 0) turn.stayStill();
    return closed;
  });
}

/** An answer as the server gets it; null while the question is open. */
export interface ElicitationAnswer {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | number | boolean | string[]>;
}

const ANSWER = rawSql(`CASE WHEN q.state = 'open' THEN NULL WHEN q.outcome = 'answered' THEN e.data
  ELSE '{"action": "cancel"}' END`);
const EXPIRES_IN_MS = rawSql(`(extract(epoch FROM q.expires_at - clock_timestamp()) * 1000)::double precision`);
const WITH_ANSWER = rawSql(`waits q JOIN turns t ON t.id = q.turn_id
  LEFT JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = q.answer_position`);

export async function readElicitation(
  db: Db,
  id: string,
): Promise<{ answer: ElicitationAnswer | null; outcome: Outcome | null; expiresInMs: number }> {
  const [row] = await runSql<{ answer: Data | null; outcome: Outcome | null; expiresInMs: number }>(
    db,
    sql`SELECT ${ANSWER} AS answer, q.outcome, ${EXPIRES_IN_MS} AS "expiresInMs"
        FROM ${WITH_ANSWER} WHERE q.kind = 'elicitation' AND q.id = ${id}`,
  );
  return { ...row!, answer: row!.answer === null ? null : toAnswer(row!.answer) };
}

/** The content fits the schema of its question, which is flat. */
type Data = Pick<EventData['user.elicitation_result'], 'action'> & { content?: ElicitationAnswer['content'] | null };

function toAnswer({ action, content }: Data): ElicitationAnswer {
  return content == null ? { action } : { action, content };
}

/** The questions of a task: how many are open, and the answers that the server has not got. */
export interface TaskQuestions {
  open: number;
  /** Until the first open one expires; null without one. */
  expiresInMs: number | null;
  undelivered: { id: string; requestId: string; answer: ElicitationAnswer }[];
}

export async function readTaskQuestions(db: Db, { turnId, step, index }: CallPlace): Promise<TaskQuestions> {
  const rows = await runSql<{ id: string; requestId: string; answer: Data | null; expiresInMs: number }>(
    db,
    sql`SELECT q.id, q.ask->>'request' AS "requestId", ${ANSWER} AS answer, ${EXPIRES_IN_MS} AS "expiresInMs"
        FROM ${WITH_ANSWER}
        WHERE q.turn_id = ${turnId} AND q.step = ${step} AND q.index = ${index} AND ${rawSql(isUndelivered('q'))}
        ORDER BY q.id`,
  );
  const open = rows.filter(({ answer }) => answer === null);
  return {
    open: open.length,
    expiresInMs: open.length === 0 ? null : Math.min(...open.map(({ expiresInMs }) => expiresInMs)),
    undelivered: rows.flatMap(({ id, requestId, answer }) =>
      answer === null ? [] : [{ id, requestId, answer: toAnswer(answer) }],
    ),
  };
}

/** SQL that is true for a question of a call that is open, or whose answer its server has not got. */
export function isUndelivered(wait: string): string {
  return `${wait}.during_call AND (
    ${wait}.state = 'open' OR ${wait}.outcome IN ('answered', 'expired') AND ${wait}.taken_at IS NULL)`;
}

export async function markDelivered(db: Db, id: string): Promise<void> {
  await runSql(db, sql`UPDATE waits SET taken_at = clock_timestamp() WHERE kind = 'elicitation' AND id = ${id}`);
}
