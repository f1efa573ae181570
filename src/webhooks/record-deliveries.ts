import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';

/** SQL for a delivery's id, which is derived from the ids of event `e` and webhook `w`: 10 characters of time, 16 of a hash. */
export const DELIVERY_ID = `'dlv_' || substr(e.id, 5, 10) || left(encode(sha256(convert_to(w.id || e.id, 'UTF8')), 'hex'), 16)`;

const RECORD_DELIVERIES = `
  INSERT INTO webhook_deliveries
    (id, webhook_id, project_id, event_type, event_id, session_id, turn_id, metadata, next_attempt_at, wake_at, created_at)
  SELECT ${DELIVERY_ID},
    w.id, w.project_id, e.type, e.id, s.id, $2, s.metadata, e.created_at, e.created_at, e.created_at
  FROM sessions s
    JOIN webhooks w ON w.project_id = s.project_id AND w.deleted_at IS NULL AND w.enabled
    JOIN unnest($3::text[], $4::text[], $5::timestamptz[]) AS e (id, type, created_at) ON e.type = ANY(w.event_types)
  WHERE s.id = $1 AND s.parent_session_id IS NULL`;

/** Notified, with an empty payload, after the commit of events that webhooks can subscribe to. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries';

interface DeliveredEvent {
  id: string;
  turn_id: string;
  type: string;
  created_at: string;
}

/**
 * Stores a delivery of each event of a turn for each subscribed webhook, in the transaction that stores the events. Events of child
 * sessions are not delivered: their parents have what concerns clients.
 */
export function recordDeliveries(tx: Tx, sessionId: string, events: DeliveredEvent[]): void {
  write(tx, RECORD_DELIVERIES, [
    ...[sessionId, events[0]!.turn_id, events.map(({ id }) => id), events.map(({ type }) => type)],
    events.map(({ created_at }) => created_at),
  ]);
}
