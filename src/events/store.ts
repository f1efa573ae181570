import { sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import { isWebhookEvent } from '../webhooks/event-types.js';
import { RECORD_DELIVERIES } from '../webhooks/record-deliveries.js';
import type { NewEvent } from './schema.js';
import type { Position } from './position.js';

/** A stored event. */
export interface EventRow {
  id: string;
  turn_id: string;
  position: number;
  type: string;
  created_at: string;
  /** The event's own fields, as JSON text. */
  data: string;
}

/** An event with its id, ready to be stored. */
export type EventToStore = Pick<EventRow, 'id' | 'type' | 'data'>;

export function newEvents(events: NewEvent[]): EventToStore[] {
  return events.map(({ type, data }) => ({ id: newId('event'), type, data: JSON.stringify(data) }));
}

/**
 * The part of a write that stores events, as CTEs of its statement; the only place that inserts into `events`. It reads
 * the turn from `written` (id, session_id, number, position after the write, at). The write holds the row's lock and
 * adds `count` to its position: commit order is position order and there is no gap. `terminal` selects the id, type and
 * data of an event that the statement itself makes, after the others. What must be stored together with an event (the
 * CTE `stored`) belongs here.
 */
export function insertEvents(events: EventToStore[], count: number, terminal?: Sql): Sql {
  const hasDeliveries = terminal !== undefined || events.some(({ type }) => isWebhookEvent(type));
  return sql`
    new_event AS (
      SELECT n, id, type, data
      FROM unnest(${events.map(({ id }) => id)}::text[], ${events.map(({ type }) => type)}::text[],
        ${events.map(({ data }) => data)}::json[]) WITH ORDINALITY AS event(id, type, data, n)
      ${terminal === undefined ? sql`` : sql`UNION ALL SELECT ${count}::bigint, made.* FROM (${terminal}) AS made`}),
    stored AS (
      INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
      SELECT new_event.id, session_id, written.id, written.number, position - ${count}::integer + n, type, data, at
      FROM written, new_event
      RETURNING id, turn_id, type)
    ${hasDeliveries ? sql`, deliveries AS (${RECORD_DELIVERIES})` : sql``}`;
}

/** A stored event as clients get it, in JSON text: common fields first, then its own. */
export function eventJson(row: Omit<EventRow, 'position'>): string {
  const common = JSON.stringify({ id: row.id, type: row.type, turn_id: row.turn_id, created_at: row.created_at });
  return row.data === '{}' ? common : `${common.slice(0, -1)},${row.data.slice(1)}`;
}

/** One frame of a turn's stream. */
export interface Frame {
  position: Position;
  type: string;
  json: string;
  /** When it was written, in ms since the epoch; absent where a replay makes that meaningless. */
  writtenAt?: number;
}

/** The JSON of a delta (contract.md §3 "Data of a delta"): the same live and replayed. */
export function deltaJson(type: string, turnId: string, messageId: string, content: string): string {
  return JSON.stringify({ type, turn_id: turnId, message_id: messageId, content });
}

interface FrameRow {
  position: number;
  attempt: number;
  number: number;
  type: string;
  id: string | null;
  created_at: string | null;
  data: string | null;
  message_id: string | null;
  content: string | null;
}

/**
 * The frames of a turn after a position, in order, at most `limit`. One statement, so one snapshot: deltas are
 * committed before the stored events that follow them, a reader that sees the one sees the other.
 */
export async function readFrames(
  db: Db,
  turnId: string,
  after: Position,
  limit: number,
  withDeltas: boolean,
): Promise<Frame[]> {
  const rows: FrameRow[] = await db.query(
    `(SELECT position, 0 AS attempt, 0 AS number, type, id, created_at, data::text, NULL AS message_id, NULL AS content
      FROM events WHERE turn_id = $1 AND position > $2 ORDER BY position LIMIT $5)
     UNION ALL
     (SELECT position, attempt, number, type, NULL, NULL, NULL, message_id, content
      FROM deltas WHERE $6 AND turn_id = $1 AND (position, attempt, number) > ($2, $3, $4)
      ORDER BY position, attempt, number LIMIT $5)
     ORDER BY 1, 2, 3 LIMIT $5`,
    [turnId, ...after, limit, withDeltas],
  );
  return rows.map((row) => ({
    position: [row.position, row.attempt, row.number],
    type: row.type,
    ...(row.created_at !== null && { writtenAt: Date.parse(row.created_at) }),
    json:
      row.id === null
        ? deltaJson(row.type, turnId, row.message_id!, row.content!)
        : eventJson({ id: row.id, turn_id: turnId, type: row.type, created_at: row.created_at!, data: row.data! }),
  }));
}

/**
 * What was streamed of a running turn's message before a cancel or a failure cut it off, as its `agent.message`; nothing
 * when no text was streamed since the last stored event.
 */
export async function cutOffMessage(db: Db, turnId: string, position: number): Promise<NewEvent[]> {
  const cut: { message_id: string; content: string }[] = await db.query(
    `SELECT message_id, string_agg(content, '' ORDER BY number) AS content FROM deltas
     WHERE turn_id = $1 AND position = $2 AND type = 'agent.message.delta'
       AND attempt = (SELECT max(attempt) FROM model_attempts WHERE turn_id = $1 AND position = $2)
     GROUP BY message_id`,
    [turnId, position],
  );
  return cut.map((message) => ({ type: 'agent.message', data: { ...message, incomplete: true } }));
}

/** A page of a session's history after (turn number, position): stored events of all turns, oldest first. */
export async function readHistory(
  db: Db,
  sessionId: string,
  after: readonly [turnNumber: number, position: number],
  limit: number,
): Promise<(EventRow & { turn_number: number })[]> {
  return db.query(
    `SELECT id, turn_id, turn_number, position, type, created_at, data::text
     FROM events WHERE session_id = $1 AND (turn_number, position) > ($2, $3)
     ORDER BY turn_number, position LIMIT $4`,
    [sessionId, ...after, limit],
  );
}

/** Characters of a turn's frames after a position: what waits for a reader that has stopped reading. */
export async function pendingCharacters(db: Db, turnId: string, [stored, attempt, number]: Position): Promise<number> {
  const [row]: { characters: number }[] = await db.query(
    `SELECT (SELECT coalesce(sum(length(data::text)), 0) FROM events WHERE turn_id = $1 AND position > $2)
       + (SELECT coalesce(sum(length(content)), 0) FROM deltas
          WHERE turn_id = $1 AND (position, attempt, number) > ($2, $3, $4)) AS characters`,
    [turnId, stored, attempt, number],
  );
  return row!.characters;
}
