import type { Db } from '../db/transaction.js';
import { batchOf, bytesOfFrame, framesOfEvents, isRetry, MAX_BATCH_BYTES, unpackFrames, type Frame } from './frames.js';
import { comparePositions, type Position } from './position.js';

const MAX_ROWS = 200;
/** Estimated memory of a delta's frame in addition to its text: a text of four characters takes this much. */
const DELTA_OVERHEAD = 350;
/** By name, so that the statement is prepared (src/db/prepared-client). */
const COLUMNS = 'position, attempt, last, type, id, created_at, message_id, data';

export interface NextFrames {
  frames: Frame[];
  hasMore: boolean;
}

export interface FrameRow {
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
  /** Number of rows that this read found before the limit cut it. */
  found: number;
}

/** SQL expressions that say which frames to read: those of a turn after a position. */
interface FramesToRead {
  sessionId: string;
  turnNumber: string;
  turnId: string;
  after: readonly [stored: string, attempt: string, delta: string];
  withDeltas: string;
}

/**
 * The query for the next frames of a turn, in order. One statement means one snapshot: deltas are committed before the
 * stored events that follow them, so a reader that sees the event also sees its deltas.
 */
export function framesQuery({ sessionId, turnNumber, turnId, after, withDeltas }: FramesToRead): string {
  const [stored, attempt, delta] = after;
  return `SELECT ${COLUMNS}, found FROM (
       SELECT ${COLUMNS}, sum(bytes) OVER place - bytes AS bytes_before, count(*) OVER () AS found
       FROM (
         SELECT ${COLUMNS}, octet_length(data) + ${DELTA_OVERHEAD} * (last - lag(last, 1,
           CASE WHEN (position, attempt) = (${stored}, ${attempt}) THEN ${delta} ELSE 0 END)
           OVER (PARTITION BY position, attempt ORDER BY last)) AS bytes
         FROM (
           (SELECT position, 0 AS attempt, 0 AS last, type, id, created_at, NULL AS message_id, data::text
            FROM events WHERE session_id = ${sessionId} AND turn_number = ${turnNumber} AND position > ${stored}
            ORDER BY position LIMIT ${MAX_ROWS})
           UNION ALL
           (SELECT position, attempt, last, NULL, NULL, NULL, message_id, runs
            FROM deltas WHERE ${withDeltas} AND turn_id = ${turnId}
              AND (position, attempt, last) > (${stored}, ${attempt}, ${delta})
            ORDER BY position, attempt, last LIMIT ${MAX_ROWS})
           ORDER BY 1, 2, 3 LIMIT ${MAX_ROWS}) AS rows) AS measured
       WINDOW place AS (ORDER BY position, attempt, last ROWS UNBOUNDED PRECEDING)) AS counted
     WHERE bytes_before < ${MAX_BATCH_BYTES} ORDER BY position, attempt, last`;
}

const READ_FRAMES = framesQuery({
  sessionId: '(SELECT session_id FROM turns WHERE id = $1)',
  turnNumber: '(SELECT number FROM turns WHERE id = $1)',
  turnId: '$1',
  after: ['$2', '$3', '$4::integer'],
  withDeltas: '$5',
});

/** Reads the next frames of a turn after a position, in order, until they take `MAX_BATCH_BYTES`. */
export async function readFrames(db: Db, turnId: string, after: Position, withDeltas: boolean): Promise<NextFrames> {
  const rows: FrameRow[] = await db.query(READ_FRAMES, [turnId, ...after, withDeltas]);
  return framesOfRows(turnId, rows, after);
}

export function framesOfRows(turnId: string, rows: FrameRow[], after: Position): NextFrames {
  const frames: Frame[] = [];
  let head = after;
  let bytes = 0;
  for (const frame of unpackRows(turnId, rows, after)) {
    // After a commit in doubt the flush is repeated, so its deltas may be stored twice.
    if (comparePositions(frame.position, head) <= 0) continue;
    if (bytes >= MAX_BATCH_BYTES) return { frames: withNewestRetry(frames), hasMore: true };
    bytes += bytesOfFrame(frame);
    head = frame.position;
    frames.push(frame);
  }
  const found = rows[0]?.found ?? 0;
  return { frames: withNewestRetry(frames), hasMore: found === MAX_ROWS || found > rows.length };
}

/** One frame after the other: a row may hold more deltas than a read returns, and begin before `after`. */
function* unpackRows(turnId: string, rows: FrameRow[], after: Position): Generator<Frame> {
  for (const { position, attempt, last, type, id, created_at: createdAt, message_id: messageId, data } of rows) {
    if (id !== null) yield* framesOfEvents([{ id, turn_id: turnId, position, type, created_at: createdAt!, data }]);
    else yield* unpackFrames(batchOf({ turnId, position, attempt, messageId: messageId! }, last, data), { after });
  }
}

/** Leaves out the notices of retries before the newest one: who connects meanwhile gets that one alone. */
function withNewestRetry(frames: Frame[]): Frame[] {
  const newest = frames.findLast(isRetry);
  return newest === undefined ? frames : frames.filter((frame) => !isRetry(frame) || frame === newest);
}
