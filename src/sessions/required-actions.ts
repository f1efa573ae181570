import type { Db } from '../db/db.js';
import type { RequiredAction } from '../events/required-action.js';
import { ServiceError } from '../platform/errors.js';
import { parseExact } from '../platform/exact-json.js';
import { WAIT_KINDS } from '../waits/kinds/index.js';

const ACTIONS = WAIT_KINDS.flatMap(({ type, action }) => (action === null ? [] : [{ type, action }]));
const ACTION = `CASE w.kind ${ACTIONS.map(({ type, action }) => `WHEN '${type}' THEN ${action}`).join('\n')} END`;

/** SQL that is true for a wait `w` that somebody is asked to end. */
export const ASKS_SOMEBODY = `w.kind IN (${ACTIONS.map(({ type }) => `'${type}'`).join(', ')})`;
const IS_ASKED = `w.state = 'open' AND ${ASKS_SOMEBODY}`;

/** The open actions of a turn `t` as a JSON array, in the order of their calls; those of a call in the order in which they were asked. */
export const OPEN_ACTIONS = `(
  SELECT coalesce(json_agg(${ACTION} ORDER BY w.step, w.index, w.id), '[]')
  FROM waits w LEFT JOIN tool_calls c USING (turn_id, step, index) WHERE w.turn_id = t.id AND ${IS_ASKED})`;

/** SQL for when the oldest open action of a turn `t` was asked; null without one. */
export const WAITING_SINCE = `(SELECT min(w.asked_at) FROM waits w WHERE w.turn_id = t.id AND ${IS_ASKED})`;

/** SQL that is true while a turn waits for an answer. `turn` is an SQL expression for its id. */
export function waitsForAnswer(turn: string): string {
  return `EXISTS (SELECT FROM waits w WHERE w.turn_id = ${turn} AND ${IS_ASKED})`;
}

/** SQL that is true while a turn waits, also if nobody is asked. */
export function isWaiting(turn: string): string {
  return `EXISTS (SELECT FROM waits w WHERE w.turn_id = ${turn} AND w.state = 'open')`;
}

export async function loadRequiredActions(db: Db, sessionId: string): Promise<RequiredAction[]> {
  const [row] = await db.query<{ actions: string }[]>(
    `SELECT ${OPEN_ACTIONS}::text AS actions FROM sessions LEFT JOIN turns t ON t.id = last_turn_id WHERE sessions.id = $1`,
    [sessionId],
  );
  return row === undefined ? [] : parseActions(row.actions);
}

/** An error with them shows the numbers of a call's input as the model wrote them. */
export function parseActions(json: string): RequiredAction[] {
  return parseExact(json) as RequiredAction[];
}

/** The error of an operation that needs a session without an open turn (decisions.md "Person in the loop", "Answering"). */
export function sessionRunning(actions: RequiredAction[]): ServiceError {
  const reason =
    actions.length === 0
      ? 'is queued or running. Wait for its end or cancel it.'
      : actions.some(({ type }) => type === 'budget')
        ? 'waits for a larger budget. PATCH the session, or cancel the turn.'
        : 'waits for answers. Send them to POST /v1/sessions/{session_id}/events, or cancel the turn.';
  const details = actions.length === 0 ? undefined : { required_actions: actions };
  return new ServiceError('session_running', `A turn of this session ${reason}`, details);
}
