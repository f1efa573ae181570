import type { Db } from '../db/db.js';
import { countDeltas, unpackDeltas, type DeltaBatch, type DeltaRun } from './delta-batch.js';
import { comparePositions, formatEventId, START, type StreamPlace, type Position } from './position.js';
import { TERMINAL_EVENTS, type NewEvent } from '../events/schema.js';
import type { DeltaType, RetryNotice } from '../events/stream-schema.js';
import { eventJson, type EventRow } from '../events/store.js';

/** Limit of the frames that one watcher holds. They also exist in the form for the wire, and as a piece of it in bytes. */
export const MAX_BATCH_BYTES = 256 * 1024;
/** Estimated memory of a frame in addition to its JSON. */
const FRAME_OVERHEAD = 200;

export interface Frame {
  turnId: string;
  position: Position;
  /** The event id that a client resumes with. */
  id: string;
  type: string;
  json: string;
  /** Time of writing in ms since the epoch; absent in a replay, where a delay has no meaning. */
  writtenAt?: number;
}

/** The turns of a session, behind the one that a stream sends, whose events are counted for a slow reader. */
const MAX_COUNTED_TURNS = 100;

const RETRY: DeltaType = 'agent.retry.delta';

/** True for the notice that a model call is tried again. */
export function isRetry({ type }: Frame): boolean {
  return type === RETRY;
}

export function isTerminal({ type }: Frame): boolean {
  return TERMINAL_EVENTS.has(type);
}

export function bytesOfFrame({ json }: Frame): number {
  return json.length + FRAME_OVERHEAD;
}

function createFrame(turnId: string, position: Position, type: string, json: string, writtenAt?: number): Frame {
  const [, stored, call, delta] = position;
  return {
    turnId,
    position,
    id: formatEventId(turnId, stored, call, delta),
    type,
    json,
    ...(writtenAt !== undefined && { writtenAt }),
  };
}

/** The frames of events of a turn, which has a number in its session. */
export function framesOfEvents(events: EventRow[], turn: number): Frame[] {
  return events.map((event) =>
    createFrame(
      event.turn_id,
      [turn, event.position, 0, 0],
      event.type,
      eventJson(event),
      Date.parse(event.created_at),
    ),
  );
}

/**
 * The frames of a batch of deltas after a position (docs/decisions.md "Turns and events", "Data of a delta"), identical live and in a replay. Each is
 * made when it is needed.
 */
export function* framesOfDeltas(
  batch: DeltaBatch,
  turn: number,
  { after = START, sentAt }: { after?: Position; sentAt?: number },
): Generator<Frame> {
  const { turnId, position: stored, call, messageId } = batch;
  const dataOf = (type: DeltaType, content: string): object =>
    type === RETRY
      ? { type, turn_id: turnId, ...(JSON.parse(content) as RetryNotice) }
      : { type, turn_id: turnId, message_id: messageId, content };
  for (const { number, type, content } of unpackDeltas(batch)) {
    const position: Position = [turn, stored, call, number];
    if (comparePositions(position, after) <= 0) continue;
    yield createFrame(turnId, position, type, JSON.stringify(dataOf(type, content)), sentAt);
  }
}

export function batchOf(place: Omit<DeltaBatch, 'first' | 'runs'>, last: number, data: string): DeltaBatch {
  const runs = JSON.parse(data) as DeltaRun[];
  return { ...place, first: last - countDeltas(runs) + 1, runs };
}

/**
 * Builds the `agent.message` of a running turn from the text streamed before a cancel request or a failure cut it off.
 * Empty if no text was streamed since the last stored event.
 */
export async function cutOffMessage(db: Db, turnId: string, position: number): Promise<NewEvent[]> {
  const rows: { call: number; last: number; message_id: string; runs: string }[] = await db.query(
    `SELECT call, last, message_id, runs FROM deltas
     WHERE turn_id = $1 AND position = $2
       AND call = (SELECT max(call) FROM model_calls WHERE turn_id = $1 AND position = $2)
     ORDER BY last`,
    [turnId, position],
  );
  let content = '';
  let number = 0;
  for (const { call, last, message_id: messageId, runs } of rows) {
    for (const delta of unpackDeltas(batchOf({ turnId, position, call, messageId }, last, runs))) {
      if (delta.number <= number) continue;
      number = delta.number;
      if (delta.type === 'agent.message.delta') content += delta.content;
    }
  }
  if (content === '') return [];
  return [{ type: 'agent.message', data: { message_id: rows[0]!.message_id, content, incomplete: true } }];
}

/** The characters that a stream has still to send after a place; `isOfSession`: those of the turns that follow too. */
export async function countPendingCharacters(
  db: Db,
  { turnId, at: [, stored, call, number] }: Pick<StreamPlace, 'turnId' | 'at'>,
  isOfSession: boolean,
): Promise<number> {
  const [row]: { characters: number }[] = await db.query(
    `SELECT (SELECT coalesce(sum(length(data::text)), 0)
        FROM turns JOIN events ON events.session_id = turns.session_id
          AND (turn_number, events.position) > (turns.number, $2)
          AND turn_number <= CASE WHEN $5 THEN turns.number + ${MAX_COUNTED_TURNS} ELSE turns.number END
        WHERE turns.id = $1)
       + (SELECT coalesce(sum(length(runs)), 0) FROM deltas
          WHERE turn_id = $1 AND (position, call, last) > ($2, $3, $4)) AS characters`,
    [turnId, stored, call, number, isOfSession],
  );
  return row!.characters;
}
