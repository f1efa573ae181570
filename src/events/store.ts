import { runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { exactText } from '../platform/exact-json.js';
import { newId } from '../platform/ids.js';
import { isWebhookEvent } from '../webhooks/event-types.js';
import { recordDeliveries } from '../webhooks/record-deliveries.js';
import type { NewEvent } from './schema.js';

export interface EventRow {
  id: string;
  turn_id: string;
  position: number;
  type: string;
  created_at: string;
  /** The fields of this event type, as JSON text. */
  data: string;
}

export type EventToStore = Pick<EventRow, 'id' | 'type' | 'data'>;

export function newEvents(events: NewEvent[]): EventToStore[] {
  return events.map(({ type, data }) => ({ id: newId('event'), type, data: exactText(data) }));
}

/**
 * The CTEs of a write that store events. Nothing else inserts into `events`. `turn` names the CTE with the turn's row after
 * the write (id, session_id, number, position, at). The write holds the row's lock and has added the number of events to
 * its position, so commit order is position order without gaps. `terminal` selects id, type and data of an event that the
 * statement itself builds, after the others. Rows that must be stored together with an event belong here.
 */
export function insertEvents(turn: Sql, events: EventToStore[], terminal?: Sql): Sql {
  const hasDeliveries = terminal !== undefined || events.some(({ type }) => isWebhookEvent(type));
  const count = events.length + (terminal === undefined ? 0 : 1);
  return sql`
    new_event AS (
      SELECT n, id, type, data
      FROM unnest(${events.map(({ id }) => id)}::text[], ${events.map(({ type }) => type)}::text[],
        ${events.map(({ data }) => data)}::json[]) WITH ORDINALITY AS event(id, type, data, n)
      ${terminal === undefined ? sql`` : sql`UNION ALL SELECT ${count}::bigint, made.* FROM (${terminal}) AS made`}),
    stored AS (
      INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
      SELECT e.id, t.session_id, t.id, t.number, t.position - ${count}::integer + n, e.type, e.data, t.at
      FROM ${turn} AS t, new_event AS e
      RETURNING id, session_id, turn_id, type, created_at)
    ${hasDeliveries ? sql`, deliveries AS (${recordDeliveries(sql`stored`)})` : sql``}`;
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
