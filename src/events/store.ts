import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import { isWebhookEvent } from '../webhooks/event-types.js';
import { DELIVERIES_CHANNEL, recordDeliveries } from '../webhooks/record-deliveries.js';

export interface EventRow {
  id: string;
  turn_id: string;
  position: number;
  type: string;
  created_at: string;
  /** The fields of this event type, as JSON text. */
  data: string;
}

const INSERT_EVENTS = `
  INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
  SELECT id, $1, $2, $3::integer, position, type, data, $4::timestamptz
  FROM unnest($5::text[], $6::integer[], $7::text[], $8::json[]) AS event (id, position, type, data)`;

/**
 * Stores events of a turn that have one time, and a delivery of each for each subscribed webhook. Nothing else inserts into `events`.
 * The transaction holds the lock of the turn's row, or has inserted it.
 */
export function insertEvents(
  tx: Tx,
  turn: { id: string; session_id: string; number: number },
  events: EventRow[],
): void {
  write(tx, INSERT_EVENTS, [
    ...[turn.session_id, turn.id, turn.number, events[0]!.created_at],
    ...[events.map(({ id }) => id), events.map(({ position }) => position)],
    ...[events.map(({ type }) => type), events.map(({ data }) => data)],
  ]);
  const delivered = events.filter(({ type }) => isWebhookEvent(type));
  if (delivered.length > 0) recordDeliveries(tx, turn.session_id, delivered);
}

/** After the commit of events: tells who starts deliveries, if webhooks can subscribe to one of them. */
export function notifyDeliveries(notifier: { send(channel: string, payload: string): void }, events: EventRow[]): void {
  if (events.some(({ type }) => isWebhookEvent(type))) notifier.send(DELIVERIES_CHANNEL, '');
}

/** A stored event as JSON text for clients: common fields first, then those of its type. */
export function eventJson(row: Omit<EventRow, 'position'>): string {
  const common = JSON.stringify({ id: row.id, type: row.type, turn_id: row.turn_id, created_at: row.created_at });
  return row.data === '{}' ? common : `${common.slice(0, -1)},${row.data.slice(1)}`;
}

export async function hasMcpError(db: Db, turnId: string, serverId: string): Promise<boolean> {
  const events = await runSql<unknown>(
    db,
    sql`SELECT 1 FROM turns JOIN events ON events.session_id = turns.session_id AND turn_number = turns.number
        WHERE turns.id = ${turnId} AND type = 'agent.mcp_error' AND data->>'mcp_server_id' = ${serverId} LIMIT 1`,
  );
  return events.length > 0;
}
