import type { Db } from '../db/db.js';
import { moneyJson } from '../db/money.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { Money, Usage } from '../events/fields.js';
import type { PageRows } from '../platform/page.js';
import type { RequiredAction } from '../events/required-action.js';
import { ASKS_SOMEBODY } from '../sessions/required-actions.js';

/** A part of a turn with its begin and end. What does not apply to its type is null. */
export interface TimelineEntry {
  type: 'queued' | 'connect' | 'model_call' | 'tool_call' | 'wait';
  /** Of the tool: for calls of tools, and waits for the answer to one. */
  name: string | null;
  started_at: string;
  /** Null while it is running. */
  ended_at: string | null;
  status: 'running' | 'ok' | 'failed' | 'cancelled';
  step: number | null;
  message_id: string | null;
  model_id: string | null;
  /** Number of the call among those of its step, from 1. */
  attempt: number | null;
  first_token_ms: number | null;
  usage: Usage | null;
  cost: Money | null;
  error: { type: string; message: string; retryable: boolean } | null;
  tool_use_id: string | null;
  mcp_server_id: string | null;
  action: RequiredAction['type'] | null;
  /** Of the turn that a call of another agent has begun. */
  session_id: string | null;
  turn_id: string | null;
}

/** The place of an entry: its begin, and what decides between entries that begin at the same time. */
export type TimelineRow = TimelineEntry & { place: string };

const USAGE = `CASE WHEN a.usage IS NOT NULL THEN json_build_object(
  'input_tokens', coalesce((a.usage->>'input_tokens')::numeric, 0)
    + coalesce((a.usage->>'cache_read_input_tokens')::numeric, 0)
    + coalesce((a.usage->>'cache_creation_input_tokens')::numeric, 0),
  'output_tokens', coalesce((a.usage->>'output_tokens')::numeric, 0)) END`;
const COST = moneyJson('a.cost', { isUnpriced: 'a.cost IS NULL', currency: 'a.currency' });
const IS_OPEN = `turn.ended_at IS NULL`;
/** Of what the end of the turn broke off. */
const BROKEN_OFF = `CASE turn.state WHEN 'cancelled' THEN 'cancelled' ELSE 'failed' END`;

/**
 * Each part in the same columns. `rank` orders parts that begin at the same time. A process that died left its call open: it
 * ended when the next attempt began, or with the turn.
 */
const PARTS = rawSql(`
  SELECT 'queued' AS type, 0 AS rank, 0 AS step, 0 AS number, '' AS detail, NULL AS name, turn.queued_at AS begin,
    coalesce(turn.started_at, turn.ended_at) AS finish,
    CASE WHEN turn.started_at IS NOT NULL THEN 'ok' WHEN ${IS_OPEN} THEN 'running' ELSE ${BROKEN_OFF} END AS status,
    NULL AS message_id, NULL AS model_id, NULL::integer AS first_token_ms, NULL::json AS usage, NULL::json AS cost,
    NULL::json AS error, NULL AS tool_use_id, NULL AS mcp_server_id, NULL AS action,
    NULL AS session_id, NULL AS turn_id
  FROM turn
  UNION ALL
  SELECT 'connect', 1, 0, 0, '', NULL,
    coalesce(turn.connected_at - turn.connect_ms * interval '1 ms', turn.started_at),
    coalesce(turn.connected_at, turn.ended_at),
    CASE WHEN turn.connected_at IS NULL THEN CASE WHEN ${IS_OPEN} THEN 'running' ELSE ${BROKEN_OFF} END
      WHEN EXISTS (SELECT FROM turn_servers c WHERE c.turn_id = turn.id AND NOT c.connected) THEN 'failed' ELSE 'ok' END,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM turn JOIN configurations c ON c.id = turn.configuration_id
  WHERE turn.started_at IS NOT NULL AND cardinality(c.mcp_servers) > 0
    AND (turn.connected_at IS NOT NULL OR NOT EXISTS (SELECT FROM model_calls a WHERE a.turn_id = turn.id))
  UNION ALL
  SELECT 'model_call', 2, a.step, a.number, '', NULL, a.started_at,
    coalesce(a.ended_at, a.next_began_at, turn.ended_at),
    CASE WHEN s.turn_id IS NOT NULL THEN 'ok' WHEN a.error IS NOT NULL THEN 'failed'
      -- A summary of older turns is no step.
      WHEN a.ended_at IS NOT NULL AND (a.next_began_at IS NOT NULL OR turn.state <> 'cancelled') THEN 'ok'
      WHEN a.ended_at IS NOT NULL THEN 'cancelled'
      WHEN a.next_began_at IS NOT NULL THEN 'failed'
      WHEN ${IS_OPEN} THEN 'running' ELSE ${BROKEN_OFF} END,
    a.message_id, a.model_id, a.first_token_ms, ${USAGE}, ${COST},
    CASE WHEN a.error IS NOT NULL THEN json_build_object(
      'type', a.error->'type', 'message', a.error->'message', 'retryable', a.error->'retryable') END,
    NULL, NULL, NULL, NULL, NULL
  FROM turn CROSS JOIN LATERAL (
    SELECT *, row_number() OVER (PARTITION BY step ORDER BY position, call) AS number,
      lead(started_at) OVER (ORDER BY position, call) AS next_began_at
    FROM model_calls WHERE model_calls.turn_id = turn.id) AS a
    LEFT JOIN model_steps s ON s.turn_id = turn.id AND s.step = a.step AND s.message_id = a.message_id
  UNION ALL
  SELECT 'tool_call', 3, c.step, c.index, '', c.name, c.started_at, coalesce(c.ended_at, turn.ended_at),
    CASE WHEN c.state = 'done' THEN CASE WHEN c.is_error THEN 'failed' ELSE 'ok' END
      WHEN ${IS_OPEN} THEN 'running' ELSE ${BROKEN_OFF} END,
    NULL, NULL, NULL, NULL, NULL, NULL, c.tool_use_id, (
      SELECT server_id FROM turn_servers o
      WHERE o.turn_id = turn.id AND starts_with(c.name, 'mcp__' || o.name || '__') ORDER BY length(o.name) DESC LIMIT 1),
    NULL, d.child_session_id, d.child_turn_id
  FROM turn JOIN tool_calls c ON c.turn_id = turn.id LEFT JOIN delegations d USING (turn_id, step, index)
  WHERE c.started_at IS NOT NULL
  UNION ALL
  SELECT 'wait', 4, w.step, coalesce(w.index, 0), w.id, c.name, w.asked_at, w.closed_at,
    CASE WHEN w.state = 'open' THEN 'running' WHEN w.outcome = 'expired' AND NOT ${ASKS_SOMEBODY} THEN 'ok'
      WHEN w.outcome IN ('expired', 'lost') THEN 'failed'
      WHEN w.outcome IN ('withdrawn', 'cancelled') THEN 'cancelled' ELSE 'ok' END,
    NULL, NULL, NULL, NULL, NULL, NULL, w.tool_use_id, NULL, CASE WHEN ${ASKS_SOMEBODY} THEN w.kind END, NULL, NULL
  FROM turn JOIN waits w ON w.turn_id = turn.id LEFT JOIN tool_calls c USING (turn_id, step, index)
  -- The call of another agent has begun before it waits, and is there.
  WHERE w.asked_at IS NOT NULL AND w.kind <> 'child_turn'`);

/**
 * A page of a turn's timeline, oldest first: the rows of its calls and waits are the facts, nothing is kept for it. A turn has
 * some ten rows for each of its at most a hundred steps, without their contents.
 */
export async function readTimeline(
  db: Db,
  turnId: string,
  { limit, after }: { limit: number; after: string[] | null },
): Promise<PageRows<TimelineRow>> {
  const [begin, place] = after ?? [null, ''];
  const rows = await runSql<TimelineRow>(
    db,
    sql`WITH turn AS (
          SELECT id, session_id, configuration_id, number, state, queued_at, started_at, ended_at, connected_at, connect_ms
          FROM turns WHERE id = ${turnId}),
        parts AS (${PARTS}),
        placed AS (
          SELECT *, concat_ws(' ', rank, lpad(step::text, 9, '0'), lpad(number::text, 9, '0'), detail) COLLATE "C" AS place
          FROM parts)
        SELECT type, name, begin AS started_at, CASE WHEN status <> 'running' THEN finish END AS ended_at, status,
          CASE WHEN step > 0 THEN step END AS step, message_id, model_id,
          CASE WHEN type = 'model_call' THEN number::integer END AS attempt,
          first_token_ms, usage, cost, error, tool_use_id, mcp_server_id, action, session_id, turn_id, place
        FROM placed
        WHERE ${begin}::timestamptz IS NULL OR (begin, place) > (${begin}::timestamptz, ${place})
        ORDER BY begin, place LIMIT ${limit + 1}`,
  );
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}
