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

/** The open turns that the calls of a turn have begun. `turn` is an SQL expression for its id. */
const childrenOf = (turn: string): string => `SELECT o.turn_id FROM open_turns o WHERE o.parent_turn_id = ${turn}`;
/** An action of a child turn also has the session in which it is answered. Ids need no escapes. */
const ACTION_OF_CHILD = `(left((${ACTION})::text, -1) || ', "session_id" : "' || w.session_id || '"}')::json`;

/**
 * The open actions of a turn `t` as a JSON array, in the order of their calls; those of a call in the order in which they were asked.
 * Those of the turns that its calls have begun come after its own.
 */
export const OPEN_ACTIONS = `(
  SELECT coalesce(json_agg(action ORDER BY place, step, index, id), '[]') FROM (
    SELECT ${ACTION} AS action, NULL AS place, w.step, w.index, w.id
    FROM waits w LEFT JOIN tool_calls c USING (turn_id, step, index) WHERE w.turn_id = t.id AND ${IS_ASKED}
    UNION ALL
    SELECT ${ACTION_OF_CHILD}, d.created_at, w.step, w.index, w.id
    FROM (${childrenOf('t.id')}) AS child JOIN delegations d ON d.child_turn_id = child.turn_id
      JOIN waits w ON w.turn_id = child.turn_id LEFT JOIN tool_calls c ON (c.turn_id, c.step, c.index) = (w.turn_id, w.step, w.index)
    WHERE ${IS_ASKED}) AS asked (action, place, step, index, id))`;

/** SQL for when the oldest open action of a turn `t`, or of one that its calls have begun, was asked; null without one. */
export const WAITING_SINCE = `(
  SELECT min(w.asked_at) FROM waits w WHERE w.turn_id IN (SELECT t.id UNION ALL ${childrenOf('t.id')}) AND ${IS_ASKED})`;

/** SQL that is true while a turn itself waits for an answer. `turn` is an SQL expression for its id. */
export function waitsForAnswer(turn: string): string {
  return `EXISTS (SELECT FROM waits w WHERE w.turn_id = ${turn} AND ${IS_ASKED})`;
}

/** SQL that is true while one of the turns that the calls of a turn have begun waits for an answer. */
export function childWaitsForAnswer(turn: string): string {
  return `EXISTS (${childrenOf(turn)} AND ${waitsForAnswer('o.turn_id')})`;
}

/** SQL that is true while a turn can only go on after an answer: none of the turns that its calls have begun runs. */
export function standsStill(turn: string): string {
  return `(NOT EXISTS (${childrenOf(turn)} AND NOT ${waitsForAnswer('o.turn_id')})
    AND (${waitsForAnswer(turn)} OR ${childWaitsForAnswer(turn)}))`;
}

/** SQL for the ids of the open actions of a turn, in their order. */
export function openActionsOf(turn: string): string {
  return `ARRAY(SELECT w.id FROM waits w WHERE w.turn_id = ${turn} AND ${IS_ASKED} ORDER BY w.id)`;
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
