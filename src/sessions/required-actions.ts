import type { FromSchema } from 'json-schema-to-ts';
import type { Db } from '../db/db.js';
import type { requiredAction } from '../events/required-action.js';
import { ServiceError } from '../platform/errors.js';
import { SPENT } from './budget.js';
import { parseExact } from '../platform/exact-json.js';

export type RequiredAction = FromSchema<typeof requiredAction>;
/** Kind of answer: a person's decision, or the result of a tool that the client runs. */
export type ActionKind = Exclude<RequiredAction['type'], 'elicitation' | 'budget' | 'mcp_authorization'>;

const ISO_TIME = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/**
 * The open actions of a turn `t` as a JSON array: calls that wait for an answer in their order, then questions of servers; or
 * the budget that the next model call does not fit into.
 */
export const OPEN_ACTIONS = `(SELECT coalesce(json_agg(action ORDER BY step, index, place), '[]') FROM (
      SELECT a.step, a.index, '' AS place, json_build_object('type', a.kind, 'tool_use_id', a.tool_use_id, 'name', c.name,
        'input', c.input, 'expires_at', to_char(a.expires_at AT TIME ZONE 'UTC', ${ISO_TIME})) AS action
      FROM required_actions a JOIN tool_calls c USING (turn_id, step, index)
      WHERE a.turn_id = t.id AND a.state = 'open'
      UNION ALL
      SELECT w.step, w.index, '', json_build_object('type', 'mcp_authorization', 'tool_use_id', w.tool_use_id, 'name', c.name,
        'input', c.input, 'mcp_server_id', w.mcp_server_id, 'expires_at', to_char(w.expires_at AT TIME ZONE 'UTC', ${ISO_TIME}))
      FROM authorization_waits w JOIN tool_calls c USING (turn_id, step, index)
      WHERE w.turn_id = t.id AND w.state = 'open'
      UNION ALL
      SELECT a.step, a.index, '', json_build_object('type', 'budget',
        'spent', json_build_object('amount', trim_scale((SELECT ${SPENT} FROM turns WHERE turns.id = a.turn_id))::text,
          'currency', owner.budget->'max_cost'->'currency'),
        'max_cost', owner.budget->'max_cost', 'expires_at', to_char(a.expires_at AT TIME ZONE 'UTC', ${ISO_TIME}))
      FROM required_actions a JOIN sessions AS owner ON owner.id = a.session_id
      WHERE a.turn_id = t.id AND a.state = 'open' AND a.kind = 'budget'
      UNION ALL
      SELECT e.step, e.index, e.id, CASE e.mode
        WHEN 'form' THEN json_build_object('type', 'elicitation', 'elicitation_id', e.id, 'tool_use_id', c.tool_use_id,
          'name', c.name, 'mode', e.mode, 'message', e.message, 'requested_schema', e.requested_schema,
          'expires_at', to_char(e.expires_at AT TIME ZONE 'UTC', ${ISO_TIME}))
        ELSE json_build_object('type', 'elicitation', 'elicitation_id', e.id, 'tool_use_id', c.tool_use_id,
          'name', c.name, 'mode', e.mode, 'message', e.message, 'url', e.url, 'expires_at', to_char(e.expires_at AT TIME ZONE 'UTC', ${ISO_TIME}))
        END
      FROM elicitations e JOIN tool_calls c USING (turn_id, step, index)
      WHERE e.turn_id = t.id AND e.state = 'open') AS open_actions)`;

/** SQL for when the oldest open action of a turn `t` was asked; null without one. */
export const WAITING_SINCE = `(SELECT min(asked_at) FROM (
      SELECT a.asked_at FROM required_actions a WHERE a.turn_id = t.id AND a.state = 'open'
      UNION ALL SELECT w.asked_at FROM authorization_waits w WHERE w.turn_id = t.id AND w.state = 'open'
      UNION ALL SELECT e.asked_at FROM elicitations e WHERE e.turn_id = t.id AND e.state = 'open') AS asked)`;

/** SQL that is true while a turn waits for an answer. `turn` is an SQL expression for its id. */
export function waitsForAnswer(turn: string): string {
  return `(EXISTS (SELECT FROM required_actions a WHERE a.turn_id = ${turn} AND a.state = 'open')
    OR EXISTS (SELECT FROM authorization_waits w WHERE w.turn_id = ${turn} AND w.state = 'open')
    OR EXISTS (SELECT FROM elicitations q WHERE q.turn_id = ${turn} AND q.state = 'open'))`;
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

/** The error of an operation that needs a session without an open turn (contract.md §6 "Answering"). */
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
