import { rawSql } from '../db/sql.js';

/**
 * The part of the statement that stores events which also stores a delivery for each subscribed webhook. It reads the
 * events from `stored` and the turn from `written` (src/events/store), so events and deliveries are committed or rolled
 * back together. A delivery's id is derived from the ids of event and webhook: 10 characters of time, 16 of a hash.
 */
export const RECORD_DELIVERIES = rawSql(`
  INSERT INTO webhook_deliveries
    (id, webhook_id, project_id, event_type, event_id, session_id, turn_id, metadata, next_attempt_at, wake_at, created_at)
  SELECT 'dlv_' || substr(stored.id, 5, 10) || left(encode(sha256(convert_to(w.id || stored.id, 'UTF8')), 'hex'), 16),
    w.id, w.project_id, stored.type, stored.id, s.id, stored.turn_id, s.metadata, at, at, at
  FROM stored, written
    JOIN sessions s ON s.id = written.session_id
    JOIN webhooks w ON w.project_id = s.project_id AND w.deleted_at IS NULL AND w.enabled
  WHERE stored.type = ANY(w.event_types)`);
