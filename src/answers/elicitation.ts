import type { Db, Tx } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { EventData, NewEvent } from '../events/schema.js';
import { OPEN_ACTIONS, parseActions } from '../sessions/required-actions.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { CallPlace } from '../turns/facts.js';

/** open → answered, expired, withdrawn (by the server), lost (the worker died), or cancelled with the turn. */
export type ElicitationState = 'open' | 'answered' | 'expired' | 'withdrawn' | 'lost' | 'cancelled';

/** `agent.requires_action` with everything that is open now; nothing if nothing is. */
export async function requiresAction(tx: Tx, turnId: string): Promise<NewEvent[]> {
  const [row] = await runSql<{ actions: string }>(
    tx,
    sql`SELECT ${rawSql(OPEN_ACTIONS)}::text AS actions FROM turns t WHERE id = ${turnId}`,
  );
  const actions = parseActions(row!.actions);
  return actions.length === 0 ? [] : [{ type: 'agent.requires_action', data: { required_actions: actions } }];
}

type Closing = { id: string } | { step: number; index: number; expired?: boolean };

const CLOSE_ONE = `
  UPDATE elicitations SET state = $2, closed_at = $3 WHERE turn_id = $1 AND state = 'open' AND id = $4`;
const CLOSE_OF_CALL = `
  UPDATE elicitations SET state = $2, closed_at = $3
  WHERE turn_id = $1 AND state = 'open' AND step = $4 AND index = $5
    AND (NOT $6::boolean OR expires_at <= $3::timestamptz)`;

/**
 * Closes open questions of a turn without an answer, and lets their calls go on. Returns how many it closed.
 * @throws TurnEndedError
 */
export async function closeElicitations(
  deps: TurnDeps,
  turnId: string,
  which: Closing,
  state: 'expired' | 'withdrawn' | 'lost',
): Promise<number> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const values = [turnId, state, turn.at];
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

const ANSWER = `CASE q.state WHEN 'open' THEN NULL WHEN 'answered' THEN e.data ELSE '{"action": "cancel"}' END`;
const WITH_ANSWER = rawSql(`elicitations q JOIN turns t ON t.id = q.turn_id
  LEFT JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = q.answer_position`);

export async function readElicitation(
  db: Db,
  id: string,
): Promise<{ answer: ElicitationAnswer | null; state: ElicitationState; expiresInMs: number }> {
  const [row] = await runSql<{ answer: Data | null; state: ElicitationState; expiresInMs: number }>(
    db,
    sql`SELECT ${rawSql(ANSWER)} AS answer, q.state,
          (extract(epoch FROM q.expires_at - clock_timestamp()) * 1000)::double precision AS "expiresInMs"
        FROM ${WITH_ANSWER} WHERE q.id = ${id}`,
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
    sql`SELECT q.id, q.request AS "requestId", ${rawSql(ANSWER)} AS answer,
          (extract(epoch FROM q.expires_at - clock_timestamp()) * 1000)::double precision AS "expiresInMs"
        FROM ${WITH_ANSWER}
        WHERE q.turn_id = ${turnId} AND q.step = ${step} AND q.index = ${index}
          AND (q.state = 'open' OR q.state IN ('answered', 'expired') AND q.delivered_at IS NULL)
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

export async function markDelivered(db: Db, id: string): Promise<void> {
  await runSql(db, sql`UPDATE elicitations SET delivered_at = clock_timestamp() WHERE id = ${id}`);
}
