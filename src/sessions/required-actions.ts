import type { FromSchema } from 'json-schema-to-ts';
import type { requiredAction } from '../events/fields.js';

/** A call that waits for an answer, as sessions and events show it. */
export type RequiredAction = FromSchema<typeof requiredAction>;
/** What it waits for: a person's yes or no, or the result of a tool that the client runs. */
export type ActionKind = RequiredAction['type'];

/** Builds the JSON array of a turn's open actions; `turn` is an SQL expression of its id. */
export function openActionsOf(turn: string): string {
  return `(SELECT coalesce(json_agg(json_build_object('type', a.kind, 'tool_use_id', a.tool_use_id, 'name', c.name,
      'input', c.input, 'expires_at', to_char(a.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
      ORDER BY a.step, a.index), '[]')
    FROM required_actions a JOIN tool_calls c USING (turn_id, step, index)
    WHERE a.turn_id = ${turn} AND a.state = 'open')`;
}

/** For queries of sessions `s` with their latest turn `t`. */
export const OPEN_ACTIONS = openActionsOf('t.id');
export const WAITS = `EXISTS (SELECT FROM required_actions a WHERE a.turn_id = s.last_turn_id AND a.state = 'open')`;
