import type { Db } from '../db/transaction.js';
import { countDeltas, unpackDeltas, type DeltaBatch, type DeltaRun } from './delta-batch.js';
import { comparePositions, formatEventId, type Position } from './position.js';
import type { NewEvent } from '../events/schema.js';
import { eventJson, type EventRow } from '../events/store.js';

/** Limits of one read: rows, and bytes after which it ends, to bound its memory. */
const MAX_ROWS = 200;
const MAX_BYTES = 1024 * 1024;

/** One frame of a turn's stream. */
export interface Frame {
  position: Position;
  /** The event id that a client resumes with. */
  id: string;
  type: string;
  json: string;
  /** Time of writing in ms since the epoch; absent in a replay, where a delay has no meaning. */
  writtenAt?: number;
}

function createFrame(turnId: string, position: Position, type: string, json: string, writtenAt?: number): Frame {
  return { position, id: formatEventId(turnId, position), type, json, ...(writtenAt !== undefined && { writtenAt }) };
}

/** The frames of consecutive stored events. */
export function framesOfEvents(events: EventRow[]): Frame[] {
  return events.map((event) =>
    createFrame(event.turn_id, [event.position, 0, 0], event.type, eventJson(event), Date.parse(event.created_at)),
  );
}

/** The frames of a batch of deltas (contract.md §3 "Data of a delta"), identical live and in a replay. */
export function framesOf(batch: DeltaBatch, sentAt?: number): Frame[] {
  const { turnId, messageId } = batch;
  return Array.from(unpackDeltas(batch), ({ position, type, content }) => {
    const json = JSON.stringify({ type, turn_id: turnId, message_id: messageId, content });
    return createFrame(turnId, position, type, json, sentAt);
  });
}

interface FrameRow {
  position: number;
  attempt: number;
  /** Number of the row's last delta; 0 for a stored event. */
  last: number;
  type: string;
  id: string | null;
  created_at: string | null;
  message_id: string | null;
  /** The fields of the event, or the runs of deltas. */
  data: string;
  /** Number of rows that this read found before the byte limit cut it. */
  found: number;
}

/**
 * Reads the next frames of a turn after a position, in order, and whether there are more. One statement means one
 * snapshot: deltas are committed before the stored events that follow them, so a reader that sees the event also sees
 * its deltas.
 */
export async function readFrames(
  db: Db,
  turnId: string,
  after: Position,
  withDeltas: boolean,
): Promise<{ frames: Frame[]; hasMore: boolean }> {
  const rows: FrameRow[] = await db.query(
    `SELECT position, attempt, last, type, id, created_at, message_id, data, found FROM (
       SELECT position, attempt, last, type, id, created_at, message_id, data,
         sum(octet_length(data)) OVER place - octet_length(data) AS bytes_before, count(*) OVER () AS found
       FROM (
         (SELECT event.* FROM turns CROSS JOIN LATERAL (
            SELECT position, 0 AS attempt, 0 AS last, type, id, created_at, NULL AS message_id, data::text
            FROM events WHERE session_id = turns.session_id AND turn_number = turns.number AND position > $2
            ORDER BY position LIMIT ${MAX_ROWS}) AS event
          WHERE turns.id = $1)
         UNION ALL
         (SELECT position, attempt, last, NULL, NULL, NULL, message_id, runs
          FROM deltas WHERE $5 AND turn_id = $1 AND (position, attempt, last) > ($2, $3, $4)
          ORDER BY position, attempt, last LIMIT ${MAX_ROWS})
         ORDER BY 1, 2, 3 LIMIT ${MAX_ROWS}) AS rows
       WINDOW place AS (ORDER BY position, attempt, last ROWS UNBOUNDED PRECEDING)) AS counted
     WHERE bytes_before < ${MAX_BYTES} ORDER BY position, attempt, last`,
    [turnId, ...after, withDeltas],
  );
  const frames: Frame[] = [];
  let head = after;
  for (const frame of rows.flatMap((row) => framesOfRow(turnId, row))) {
    // After a commit in doubt the flush is repeated, so its deltas may be stored twice.
    if (comparePositions(frame.position, head) <= 0) continue;
    head = frame.position;
    frames.push(frame);
  }
  const found = rows[0]?.found ?? 0;
  return { frames, hasMore: found === MAX_ROWS || found > rows.length };
}

function framesOfRow(turnId: string, row: FrameRow): Frame[] {
  const { position, attempt, last, type, id, created_at: createdAt, message_id: messageId, data } = row;
  if (id !== null) {
    return framesOfEvents([{ id, turn_id: turnId, position, type, created_at: createdAt!, data }]);
  }
  return framesOf(batchOf({ turnId, position, attempt, messageId: messageId! }, last, data));
}

function batchOf(place: Omit<DeltaBatch, 'first' | 'runs'>, last: number, data: string): DeltaBatch {
  const runs = JSON.parse(data) as DeltaRun[];
  return { ...place, first: last - countDeltas(runs) + 1, runs };
}

/**
 * Builds the `agent.message` of a running turn from the text streamed before a cancel request or a failure cut it off.
 * Empty if no text was streamed since the last stored event.
 */
export async function cutOffMessage(db: Db, turnId: string, position: number): Promise<NewEvent[]> {
  const rows: { attempt: number; last: number; message_id: string; runs: string }[] = await db.query(
    `SELECT attempt, last, message_id, runs FROM deltas
     WHERE turn_id = $1 AND position = $2
       AND attempt = (SELECT max(attempt) FROM model_attempts WHERE turn_id = $1 AND position = $2)
     ORDER BY last`,
    [turnId, position],
  );
  let content = '';
  let number = 0;
  for (const { attempt, last, message_id: messageId, runs } of rows) {
    for (const delta of unpackDeltas(batchOf({ turnId, position, attempt, messageId }, last, runs))) {
      if (delta.position[2] <= number) continue;
      number = delta.position[2];
      if (delta.type === 'agent.message.delta') content += delta.content;
    }
  }
  if (content === '') return [];
  return [{ type: 'agent.message', data: { message_id: rows[0]!.message_id, content, incomplete: true } }];
}

/** Counts the characters of a turn's frames after a position, from the tables. */
export async function countPendingCharacters(
  db: Db,
  turnId: string,
  [stored, attempt, number]: Position,
): Promise<number> {
  const [row]: { characters: number }[] = await db.query(
    `SELECT (SELECT coalesce(sum(length(data::text)), 0)
        FROM turns JOIN events ON events.session_id = turns.session_id AND turn_number = turns.number
        WHERE turns.id = $1 AND events.position > $2)
       + (SELECT coalesce(sum(length(runs)), 0) FROM deltas
          WHERE turn_id = $1 AND (position, attempt, last) > ($2, $3, $4)) AS characters`,
    [turnId, stored, attempt, number],
  );
  return row!.characters;
}
