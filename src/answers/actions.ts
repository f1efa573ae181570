import type { Db } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { EventRow } from '../events/store.js';
import type { Form } from '../forms/fields.js';
import type { ActionKind } from '../sessions/required-actions.js';
import type { AuthorizationAction } from './authorization-wait.js';
import type { ElicitationState } from './elicitation.js';

/** planned → open (asked) → allowed, denied, answered or expired. planned and open → cancelled when the turn ends. */
export type ActionState = 'planned' | 'open' | 'allowed' | 'denied' | 'answered' | 'expired' | 'cancelled';

export interface Action {
  turn_id: string;
  step: number;
  index: number;
  tool_use_id: string;
  kind: ActionKind;
  state: ActionState;
  answer: EventRow | null;
}

/** A row of a call or a question with the columns of its answer's event `e`, which are null without one. */
type WithEvent<Asked> = Omit<Asked, 'answer'> & Omit<EventRow, 'id'> & { event_id: string | null };

const EVENT = rawSql('e.id AS event_id, e.position, e.type, e.created_at, e.data::text AS data');

function withAnswer<Asked extends { turn_id: string; answer: EventRow | null }>(row: WithEvent<Asked>): Asked {
  const { event_id: id, position, type, created_at, data, ...asked } = row;
  const answer = id === null ? null : { id, turn_id: row.turn_id, position, type, created_at, data };
  return { ...asked, answer } as unknown as Asked;
}

/**
 * The calls of a session that need or needed an answer, by tool use id. If two calls have the same id, the latest
 * counts.
 */
export async function loadActions(db: Db, sessionId: string, toolUseIds: string[]): Promise<Map<string, Action>> {
  const rows = await runSql<WithEvent<Action>>(
    db,
    sql`SELECT DISTINCT ON (a.tool_use_id) a.turn_id, a.step, a.index, a.tool_use_id, a.kind, a.state, ${EVENT}
        FROM required_actions a JOIN turns t ON t.id = a.turn_id
          LEFT JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = a.answer_position
        WHERE a.session_id = ${sessionId} AND a.tool_use_id = ANY(${toolUseIds}::text[])
        ORDER BY a.tool_use_id, t.number DESC, a.step DESC, a.index DESC`,
  );
  return new Map(rows.map((row) => [row.tool_use_id, withAnswer<Action>(row)]));
}

/** The calls of a session that wait or waited for an authorization, by tool use id, as `loadActions` loads the others. */
export async function loadAuthorizations(
  db: Db,
  sessionId: string,
  toolUseIds: string[],
): Promise<Map<string, AuthorizationAction>> {
  const rows = await runSql<WithEvent<AuthorizationAction>>(
    db,
    sql`SELECT DISTINCT ON (a.tool_use_id) a.turn_id, a.step, a.index, a.tool_use_id, 'mcp_authorization' AS kind, a.state,
          ${EVENT}
        FROM authorization_waits a JOIN turns t ON t.id = a.turn_id
          LEFT JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = a.answer_position
        WHERE a.session_id = ${sessionId} AND a.tool_use_id = ANY(${toolUseIds}::text[])
        ORDER BY a.tool_use_id, t.number DESC, a.step DESC, a.index DESC, a.n DESC`,
  );
  return new Map(rows.map((row) => [row.tool_use_id, withAnswer<AuthorizationAction>(row)]));
}

/** A question of a server, with the form that its answer is checked against: null once the question is closed. */
export interface Elicitation extends Omit<Action, 'kind' | 'state' | 'tool_use_id'> {
  id: string;
  state: ElicitationState;
  mode: 'form' | 'url';
  requestedSchema: Form | null;
}

export async function loadElicitations(db: Db, sessionId: string, ids: string[]): Promise<Map<string, Elicitation>> {
  if (ids.length === 0) return new Map();
  const rows = await runSql<WithEvent<Elicitation>>(
    db,
    sql`SELECT q.id, q.turn_id, q.step, q.index, q.state, q.mode,
          CASE q.state WHEN 'open' THEN q.requested_schema END AS "requestedSchema", ${EVENT}
        FROM elicitations q JOIN turns t ON t.id = q.turn_id
          LEFT JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = q.answer_position
        WHERE q.session_id = ${sessionId} AND q.id = ANY(${ids}::text[])`,
  );
  return new Map(rows.map((row) => [row.id, withAnswer<Elicitation>(row)]));
}

/** The ids among these that belong to calls of the session that need no answer. */
export async function findOtherCalls(db: Db, sessionId: string, toolUseIds: string[]): Promise<Set<string>> {
  const rows = await runSql<{ tool_use_id: string }>(
    db,
    sql`SELECT DISTINCT tool_use_id FROM turns JOIN tool_calls ON tool_calls.turn_id = turns.id
        WHERE session_id = ${sessionId} AND tool_use_id = ANY(${toolUseIds}::text[])`,
  );
  return new Set(rows.map((row) => row.tool_use_id));
}
