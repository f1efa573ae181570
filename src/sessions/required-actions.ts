import type { FromSchema } from 'json-schema-to-ts';
import type { Db } from '../db/transaction.js';
import type { requiredAction } from '../events/fields.js';
import { ServiceError } from '../platform/errors.js';

/** A call that waits for an answer, as in sessions and events. */
export type RequiredAction = FromSchema<typeof requiredAction>;
/** Kind of answer: a person's decision, or the result of a tool that the client runs. */
export type ActionKind = RequiredAction['type'];

/** SQL for the JSON array of a turn's open actions. `turn` is an SQL expression for its id. */
export function openActionsOf(turn: string): string {
  return `(SELECT coalesce(json_agg(json_build_object('type', a.kind, 'tool_use_id', a.tool_use_id, 'name', c.name,
      'input', c.input, 'expires_at', to_char(a.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
      ORDER BY a.step, a.index), '[]')
    FROM required_actions a JOIN tool_calls c USING (turn_id, step, index)
    WHERE a.turn_id = ${turn} AND a.state = 'open')`;
}

export async function loadRequiredActions(db: Db, sessionId: string): Promise<RequiredAction[]> {
  const [row] = await db.query<{ actions: RequiredAction[] }[]>(
    `SELECT ${openActionsOf('last_turn_id')} AS actions FROM sessions WHERE id = $1`,
    [sessionId],
  );
  return row?.actions ?? [];
}

/** The error of an operation that needs a session without an open turn (contract.md §6 "Answering"). */
export function sessionRunning(actions: RequiredAction[]): ServiceError {
  if (actions.length === 0) {
    return new ServiceError(
      'session_running',
      'A turn of this session is queued or running. Wait for its end or cancel it.',
    );
  }
  return new ServiceError(
    'session_running',
    'A turn of this session waits for answers. Send them to POST /v1/sessions/{session_id}/events, or cancel the turn.',
    { required_actions: actions },
  );
}

/** For queries of sessions `r` with their latest turn `t`. */
export const OPEN_ACTIONS = openActionsOf('t.id');
export const WAITS = `EXISTS (SELECT FROM required_actions a WHERE a.turn_id = r.last_turn_id AND a.state = 'open')`;
