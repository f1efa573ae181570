import type { EntityManager } from 'typeorm';
import type { Db } from '../db/transaction.js';
import { newId } from '../platform/ids.js';
import type { TurnState } from '../turns/states.js';
import type { NewEvent } from './schema.js';
import type { Position } from './position.js';

/** What appending needs of a turn whose row the transaction has locked. */
export interface LockedTurn {
  id: string;
  session_id: string;
  number: number;
  position: number;
}

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

/**
 * Appends events to a turn whose row `tx` has locked, and moves its position: commit order is position order and
 * there is no gap. With `end` the turn comes to that state with them. Returns the events as they are stored. The
 * wake-up (`announce`) is sent after the commit.
 */
export async function appendEvents(
  tx: EntityManager,
  turn: LockedTurn,
  events: NewEvent[],
  end: TurnState | null = null,
): Promise<EventRow[]> {
  if (events.length === 0) return [];
  const rows = events.map(({ type, data }) => ({ id: newId('event'), type, data: JSON.stringify(data) }));
  const [[moved]]: [[{ at: string }]] = await tx.query(
    `WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
     appended AS (
       INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
       SELECT e.id, $2, $1, $3, $4::integer + e.n, e.type, e.data, now.at
       FROM now, unnest($5::text[], $6::text[], $7::json[]) WITH ORDINALITY AS e(id, type, data, n))
     UPDATE turns SET position = position + $8, progress_at = now.at, state = coalesce($9, state),
       ended_at = CASE WHEN $9::text IS NULL THEN ended_at ELSE now.at END,
       transition_at = CASE WHEN $9::text IS NULL THEN transition_at ELSE now.at END
     FROM now WHERE id = $1 RETURNING now.at`,
    [
      turn.id,
      turn.session_id,
      turn.number,
      turn.position,
      rows.map((row) => row.id),
      rows.map((row) => row.type),
      rows.map((row) => row.data),
      rows.length,
      end,
    ],
  );
  const before = turn.position;
  turn.position += rows.length;
  return rows.map((row, n) => ({ ...row, turn_id: turn.id, position: before + 1 + n, created_at: moved.at }));
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
