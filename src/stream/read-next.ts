import type { Db } from '../db/db.js';
import { OPEN } from '../db/turn-states.js';
import {
  batchOf,
  bytesOfFrame,
  framesOfDeltas,
  framesOfEvents,
  isRetry,
  isTerminal,
  MAX_BATCH_BYTES,
  type Frame,
} from './frames.js';
import { comparePositions, parseEventId, START, type StreamPlace, type Position } from './position.js';

const MAX_ROWS = 200;
/** Estimated memory of a delta's frame in addition to its text: a text of four characters takes this much. */
const DELTA_OVERHEAD = 350;
/** By name, so that the statement is prepared (src/db/prepared-client). */
const FRAME_COLUMNS = 'position, call, last, type, id, created_at, message_id, data';

export interface NextFrames {
  /** Where the frames begin: for a place at the end of a turn, the start of the turn that follows. */
  from: StreamPlace;
  frames: Frame[];
  /** The place after the frames. */
  to: StreamPlace;
  /** More frames follow, of this turn or a later one, or may follow. */
  hasMore: boolean;
  /** The turn was open, and this was its last stored event. */
  open: { stored: number } | null;
}

/**
 * The turn that follows a place, and its next frames, in order. One statement means one snapshot: deltas are committed before the
 * stored events that follow them, so a reader that sees the event also sees its deltas. $3 to $6: the turn of the place, empty or
 * null as in `StreamPlace`, and the position in it; $7: whether the stream shows the session, not one turn; $8: whether the
 * place is live; $9: whether to read frames.
 */
const READ_NEXT = `
  WITH session AS MATERIALIZED (
      SELECT id, last_turn_id FROM sessions WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL),
    seen AS MATERIALIZED (
      SELECT t.id, number, position = $4 AND NOT (${OPEN}) AS is_over
      FROM session JOIN turns t ON t.session_id = session.id WHERE t.id = $3 AND position >= $4
      UNION ALL SELECT '', 0, true WHERE $3 = ''),
    place AS MATERIALIZED (
      SELECT t.id AS turn_id, t.number, t.position AS turn_position, t.${OPEN} AS is_open,
        t.${OPEN} OR (t.id = seen.id AND $8) AS is_live, t.id = last_turn_id AS is_last,
        coalesce(seen.is_over AND seen.id = last_turn_id, false) AS is_over,
        CASE WHEN NOT seen.is_over THEN $4 ELSE 0 END AS stored,
        CASE WHEN NOT seen.is_over THEN $5 ELSE 0 END AS call_before,
        CASE WHEN NOT seen.is_over THEN $6 ELSE 0 END AS delta
      FROM session LEFT JOIN seen ON true
        LEFT JOIN turns next ON seen.is_over AND next.session_id = session.id AND next.number = seen.number + 1
          AND (next.from_queue OR $7 OR seen.number = 0)
        LEFT JOIN turns t
          ON t.id = CASE WHEN NOT seen.is_over THEN seen.id ELSE coalesce(next.id, last_turn_id) END)
  SELECT turn_id, place.number AS turn_number, turn_position, is_open, is_live, is_last, is_over, stored, call_before, delta,
    frames.position, call, last, type, id, created_at, message_id, data, found
  FROM place LEFT JOIN (SELECT ${FRAME_COLUMNS}, found FROM (
      SELECT ${FRAME_COLUMNS}, sum(bytes) OVER place - bytes AS bytes_before, count(*) OVER () AS found
      FROM (
        SELECT ${FRAME_COLUMNS}, octet_length(data) + ${DELTA_OVERHEAD} * (last - lag(last, 1,
          CASE WHEN (position, call) = ((SELECT stored FROM place), (SELECT call_before FROM place))
            THEN (SELECT delta FROM place) ELSE 0 END)
          OVER (PARTITION BY position, call ORDER BY last)) AS bytes
        FROM (
          (SELECT position, 0 AS call, 0 AS last, type, id, created_at, NULL AS message_id, data::text
           FROM events
           WHERE session_id = $2 AND turn_number = (SELECT number FROM place WHERE $9::boolean AND NOT is_over)
             AND position > (SELECT stored FROM place)
           ORDER BY position LIMIT ${MAX_ROWS})
          UNION ALL
          (SELECT position, call, last, NULL, NULL, NULL, message_id, runs
           FROM deltas
           WHERE turn_id = (SELECT turn_id FROM place WHERE $9::boolean AND is_live)
             AND (position, call, last)
               > ((SELECT stored FROM place), (SELECT call_before FROM place), (SELECT delta FROM place))
           ORDER BY position, call, last LIMIT ${MAX_ROWS})
          ORDER BY 1, 2, 3 LIMIT ${MAX_ROWS}) AS rows) AS measured
      WINDOW place AS (ORDER BY position, call, last ROWS UNBOUNDED PRECEDING)) AS counted
    WHERE bytes_before < ${MAX_BATCH_BYTES}) AS frames ON true
  ORDER BY frames.position, frames.call, frames.last`;

interface FrameRow {
  position: number;
  /** The number of the model call; 0 for a stored event. */
  call: number;
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

interface PlaceRow {
  turn_id: string | null;
  turn_number: number;
  turn_position: number;
  is_open: boolean;
  is_live: boolean;
  is_last: boolean;
  is_over: boolean;
  stored: number;
  call_before: number;
  delta: number;
}

/** The place that a `Last-Event-ID` names, in any turn of the session. An id that is unknown means the open or last turn. */
export function placeOf(session: Pick<StreamPlace, 'projectId' | 'sessionId'>, lastEventId: string): StreamPlace {
  const seen = parseEventId(lastEventId);
  const at: Position = seen === null ? START : [0, ...seen.position];
  return { ...session, turnId: seen?.turnId ?? null, at, isOver: false, isLive: false };
}

/**
 * Reads the next frames after a place until they take `MAX_BATCH_BYTES`, all of one turn. At the end of a turn, a stream of the
 * session goes on with the turn that follows, whatever started it, or waits there. A stream of a turn goes on with the turn that the
 * queue started next; after any other end but the last one, with the last turn (decisions.md "Turns and events", "Stream, …"). Returns null if
 * there is no such session.
 * @param withFrames read frames too; without, `hasMore` is true
 */
export async function readNext(
  db: Db,
  place: StreamPlace,
  { isOfSession, withFrames }: { isOfSession: boolean; withFrames: boolean },
): Promise<NextFrames | null> {
  const { projectId, sessionId, turnId, at, isLive } = place;
  const [, ...inTurn] = at;
  const parameters = [projectId, sessionId, turnId, ...inTurn, isOfSession, isLive, withFrames];
  const rows: (PlaceRow & (FrameRow | { [column in keyof FrameRow]: null }))[] = await db.query(READ_NEXT, parameters);
  const [turn] = rows;
  if (turn === undefined) return null;
  const from = { ...place, ...placeIn(turn) };
  // Without a turn there are no frames, and the one row has no values for them.
  const found = rows.filter((row): row is PlaceRow & FrameRow => row.position !== null);
  const { frames, isCut } = framesOfRows(from, found);
  const isRead = withFrames || turn.turn_id === null || turn.is_over;
  const hasMore = isCut || !isRead || (turn.turn_id !== null && !turn.is_last);
  return {
    from,
    frames,
    to: placeAfter(from, frames),
    hasMore,
    open: turn.is_open ? { stored: turn.turn_position } : null,
  };
}

function placeIn(turn: PlaceRow): Pick<StreamPlace, 'turnId' | 'at' | 'isOver' | 'isLive'> {
  const { turn_id: turnId, turn_number: number, is_over: isOver, is_live } = turn;
  if (turnId === null) return { turnId: '', at: START, isOver: false, isLive: true };
  if (isOver) return { turnId, at: [number, turn.turn_position, 0, 0], isOver, isLive: true };
  return { turnId, at: [number, turn.stored, turn.call_before, turn.delta], isOver, isLive: is_live };
}

/** The place of a stream that has sent frames after `from`. */
export function placeAfter(from: StreamPlace, frames: Frame[]): StreamPlace {
  const last = frames.at(-1);
  if (last === undefined) return from;
  const { turnId, position: at } = last;
  const isOver = isTerminal(last);
  return { ...from, turnId, at, isOver, isLive: from.isLive || isOver };
}

function framesOfRows(from: StreamPlace, rows: FrameRow[]): { frames: Frame[]; isCut: boolean } {
  const frames: Frame[] = [];
  let head = from.at;
  let bytes = 0;
  for (const frame of unpackRows(from, rows)) {
    // After a commit in doubt the flush is repeated, so its deltas may be stored twice.
    if (comparePositions(frame.position, head) <= 0) continue;
    if (bytes >= MAX_BATCH_BYTES) return { frames: withNewestRetry(frames), isCut: true };
    bytes += bytesOfFrame(frame);
    head = frame.position;
    frames.push(frame);
  }
  const found = rows[0]?.found ?? 0;
  return { frames: withNewestRetry(frames), isCut: found === MAX_ROWS || found > rows.length };
}

/** One frame after the other: a row may hold more deltas than a read returns, and begin before the place. */
function* unpackRows({ turnId, at }: StreamPlace, rows: FrameRow[]): Generator<Frame> {
  const [turn] = at;
  for (const { position, call, last, type, id, created_at: createdAt, message_id: messageId, data } of rows) {
    const ofTurn = { turnId: turnId!, position };
    if (id !== null)
      yield* framesOfEvents([{ ...ofTurn, id, turn_id: turnId!, type, created_at: createdAt!, data }], turn);
    else yield* framesOfDeltas(batchOf({ ...ofTurn, call, messageId: messageId! }, last, data), turn, { after: at });
  }
}

/** Leaves out the notices of retries before the newest one: who connects meanwhile gets that one alone. */
function withNewestRetry(frames: Frame[]): Frame[] {
  const newest = frames.findLast(isRetry);
  return newest === undefined ? frames : frames.filter((frame) => !isRetry(frame) || frame === newest);
}

/** Most stored events that a stream of a session sends before it is live (docs/decisions.md "Session stream"). */
export const MAX_REPLAYED_EVENTS = 10_000;

/** Whether more events than that are stored after a place. Each turn has at least one. */
export async function isReplayTooLong(db: Db, { sessionId, at: [number, stored] }: StreamPlace): Promise<boolean> {
  const [row]: { is_too_long: boolean }[] = await db.query(
    `SELECT coalesce(sum(position), 0) - $3::integer > ${MAX_REPLAYED_EVENTS} AS is_too_long
     FROM (SELECT position FROM turns WHERE session_id = $1 AND number >= $2
           ORDER BY number LIMIT ${MAX_REPLAYED_EVENTS + 2}) AS turns_after`,
    [sessionId, number, stored],
  );
  return row!.is_too_long;
}

/**
 * The indexes of the places that are not the last one of their session: more is stored of the turn, another turn has begun, or the
 * session is deleted. `withDeltas`: for each place, whether deltas count too.
 */
export async function findBehind(db: Db, places: StreamPlace[], withDeltas: boolean[]): Promise<number[]> {
  const rows = await db.query<{ index: number }[]>(
    `SELECT place.n::integer - 1 AS index
     FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::boolean[]) WITH ORDINALITY
         AS place(session_id, turn_id, position, call, delta, with_deltas, n)
       LEFT JOIN sessions ON sessions.id = place.session_id AND deleted_at IS NULL
       LEFT JOIN turns ON turns.id = place.turn_id
       LEFT JOIN LATERAL (
         SELECT call, last FROM deltas
         WHERE with_deltas AND deltas.turn_id = turns.id AND deltas.position = turns.position
         ORDER BY call DESC, last DESC LIMIT 1) AS latest ON true
     WHERE sessions.id IS NULL OR coalesce(last_turn_id, '') <> place.turn_id
       OR (turns.position, coalesce(latest.call, 0), coalesce(latest.last, 0))
         > (place.position, place.call, place.delta)`,
    [
      places.map(({ sessionId }) => sessionId),
      places.map(({ turnId }) => turnId),
      ...[1, 2, 3].map((part) => places.map(({ at }) => at[part])),
      withDeltas,
    ],
  );
  return rows.map(({ index }) => index);
}
