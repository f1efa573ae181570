import { sql, type Sql } from '../db/sql.js';

/**
 * The statement that stores a delivery of each stored event for each subscribed webhook. It belongs to the statement that
 * stores the events, so events and deliveries are committed or rolled back together. `stored` names the CTE of the
 * events. A delivery's id is derived from the ids of event and webhook: 10 characters of time, 16 of a hash.
 */
export function recordDeliveries(stored: Sql): Sql {
  return sql`
    INSERT INTO webhook_deliveries
      (id, webhook_id, project_id, event_type, event_id, session_id, turn_id, metadata, next_attempt_at, wake_at, created_at)
    SELECT 'dlv_' || substr(e.id, 5, 10) || left(encode(sha256(convert_to(w.id || e.id, 'UTF8')), 'hex'), 16),
      w.id, w.project_id, e.type, e.id, s.id, e.turn_id, s.metadata, e.created_at, e.created_at, e.created_at
    FROM ${stored} AS e
      JOIN sessions s ON s.id = e.session_id
      JOIN webhooks w ON w.project_id = s.project_id AND w.deleted_at IS NULL AND w.enabled
    WHERE e.type = ANY(w.event_types)`;
}
