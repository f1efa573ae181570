import { runSql, sql } from '../db/sql.js';
import type { EventRow } from '../events/store.js';
import { insertEvents } from '../events/store.js';
import type { EntityManager } from 'typeorm';
import { openTurn, type QueuedTurn } from './open.js';

type Row = Omit<QueuedTurn, 'event' | 'runningMs'> & Pick<EventRow, 'created_at' | 'data'> & { event_id: string };

/**
 * Makes the first message that waits in a session a turn; null if none waits. Messages that were to steer a turn go before
 * those that queue, each in order of arrival. The transaction holds the lock of the
 * session's row, or of its latest turn, which has ended in it.
 */
export async function startNext(tx: EntityManager, sessionId: string, namespace: string): Promise<QueuedTurn | null> {
  // A message may be withdrawn at this moment. The next statement sees whether it was.
  await runSql(tx, sql`SELECT FROM waiting_messages WHERE session_id = ${sessionId} FOR UPDATE`);
  const [row] = await runSql<Row>(
    tx,
    sql`WITH first AS MATERIALIZED (
          SELECT id AS event_id, session_id, turn_id, trace, data FROM waiting_messages
          WHERE session_id = ${sessionId} ORDER BY steers = 0, arrival LIMIT 1),
        taken AS (
          DELETE FROM waiting_messages USING first WHERE id = event_id),
        new_turn AS MATERIALIZED (
          SELECT first.turn_id AS id, first.session_id, sessions.project_id, turn_count + 1 AS number, first.trace,
            data->>'model_id' AS model_id, (data->>'thinking_enabled')::boolean AS thinking_enabled,
            NULL::text AS continues_turn_id, NULL::integer AS message_number, true AS from_queue,
            (SELECT count(*) > 1 FROM waiting_messages w WHERE w.session_id = first.session_id) AS has_waiting,
            t.cost_before + t.cost AS cost_before, t.was_unpriced OR t.is_unpriced AS was_unpriced, t.currency,
            clock_timestamp() AS at
          FROM first JOIN sessions ON sessions.id = first.session_id JOIN turns t ON t.id = last_turn_id),
        ${openTurn(sql`new_turn`, namespace)},
        ${insertEvents(sql`written`, [], sql`SELECT event_id, 'user.message', data FROM first`)}
        SELECT written.id, written.session_id AS "sessionId", written.project_id AS "projectId",
          written.number, first.trace,
          coalesce(new_turn.model_id, sessions.model_id) AS "modelId", cardinality(mcp_servers) AS "mcpServers",
          new_turn.has_waiting AS "hasWaiting", event_id, data::text AS data, written.at AS created_at
        FROM written, first, new_turn, sessions WHERE sessions.id = written.session_id`,
  );
  if (row === undefined) return null;
  const { event_id, data, created_at, ...turn } = row;
  const event = { id: event_id, turn_id: turn.id, position: 1, type: 'user.message', created_at, data };
  return { ...turn, runningMs: 0, event };
}
