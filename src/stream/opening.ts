import { OPEN } from '../db/turn-states.js';
import type { Db } from '../db/transaction.js';
import { framesOfRows, framesQuery, type FrameRow, type NextFrames } from './read-frames.js';
import { parseEventId, START, type Position } from './position.js';

/** The turn that a stream starts in, and its next frames, as one statement found them. */
export interface OpenedTurn extends NextFrames {
  kind: 'turn';
  sessionId: string;
  turnId: string;
  /** Number of the turn in its session, from 1. */
  number: number;
  isOpen: boolean;
  /** The frames follow this position. */
  after: Position;
  /** The turn's last stored event. */
  position: number;
}

/** The latest turn of a session of which a stream has everything; number 0 before the first turn. */
export interface SeenTurn {
  turnId: string | null;
  number: number;
}

/** Where a stream of a session begins or goes on. */
export interface StreamPlace {
  projectId: string;
  lastEventId: string;
  /** The stream goes on with the turns that follow (docs/contract.md §22). */
  isOfSession: boolean;
}

export type Opening =
  /** There is no turn after this one yet: wait for it. */
  | { kind: 'wait'; seen: SeenTurn }
  /** After the terminal event of the current turn: there is nothing to send. */
  | { kind: 'over' }
  | OpenedTurn;

/**
 * The session, the turn that a stream of it starts in, and the turn's next frames, in one statement. $3 to $6: the turn and the
 * position that the client has seen, null and zeros if none; $7: whether to read frames; $8: whether the stream is one of the
 * session.
 */
const OPENING = `
  WITH session AS MATERIALIZED (
      SELECT id, last_turn_id FROM sessions WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL),
    seen AS MATERIALIZED (
      SELECT t.id, number, position = $4 AND NOT (${OPEN}) AS is_over
      FROM session JOIN turns t ON t.session_id = session.id WHERE t.id = $3 AND position >= $4),
    place AS MATERIALIZED (
      SELECT t.id AS turn_id, t.number, t.position AS turn_position, t.${OPEN} AS is_open,
        coalesce(seen.is_over AND seen.id = last_turn_id, false) AS is_over,
        CASE WHEN NOT seen.is_over THEN $4 ELSE 0 END AS stored,
        CASE WHEN NOT seen.is_over THEN $5 ELSE 0 END AS attempt_before,
        CASE WHEN NOT seen.is_over THEN $6 ELSE 0 END AS delta
      FROM session LEFT JOIN seen ON true
        LEFT JOIN turns next ON seen.is_over AND next.session_id = session.id AND next.number = seen.number + 1
          AND (next.from_queue OR $8)
        LEFT JOIN turns t
          ON t.id = CASE WHEN NOT seen.is_over THEN seen.id ELSE coalesce(next.id, last_turn_id) END)
  SELECT turn_id, place.number AS turn_number, turn_position, is_open, is_over, stored, attempt_before, delta,
    frames.position, attempt, last, type, id, created_at, message_id, data, found
  FROM place LEFT JOIN (${framesQuery({
    sessionId: '$2',
    turnNumber: '(SELECT number FROM place WHERE $7::boolean AND NOT is_over)',
    turnId: '(SELECT turn_id FROM place WHERE $7::boolean AND is_open)',
    after: ['(SELECT stored FROM place)', '(SELECT attempt_before FROM place)', '(SELECT delta FROM place)'],
    withDeltas: 'true',
  })}) AS frames ON true
  ORDER BY frames.position, frames.attempt, frames.last`;

/** Without frames there is one row, whose columns of a frame are null. */
type Row = FrameRow & {
  turn_id: string | null;
  turn_number: number;
  turn_position: number;
  is_open: boolean;
  is_over: boolean;
  stored: number;
  attempt_before: number;
  delta: number;
};

/** Most stored events that a stream of a session sends before it is live (docs/contract.md §22). */
export const MAX_REPLAYED_EVENTS = 10_000;

/** Whether more events than that are stored in a session after the place at which a stream opened. Each turn has at least one. */
export async function isReplayTooLong(db: Db, { sessionId, number, after }: OpenedTurn): Promise<boolean> {
  const [row]: { is_too_long: boolean }[] = await db.query(
    `SELECT coalesce(sum(position), 0) - $3::integer > ${MAX_REPLAYED_EVENTS} AS is_too_long
     FROM (SELECT position FROM turns WHERE session_id = $1 AND number >= $2
           ORDER BY number LIMIT ${MAX_REPLAYED_EVENTS + 2}) AS turns_after`,
    [sessionId, number, after[0]],
  );
  return row!.is_too_long;
}

/**
 * Decides where a stream of a session starts (contract.md §3 "Stream, …"). A `Last-Event-ID` of any turn resumes there.
 * An id at the end of an earlier turn means the start of the turn that the queue started next; without one, and if the id is
 * unknown, the start of the current turn. A stream of the session goes on with the turn after an end, whatever started it, or
 * waits for it. Returns null if there is no such session.
 * @param withFrames read the next frames too; without, `hasMore` is true
 */
export async function readOpening(
  db: Db,
  sessionId: string,
  { projectId, lastEventId, isOfSession }: StreamPlace,
  withFrames: boolean,
): Promise<Opening | null> {
  const seen = parseEventId(lastEventId);
  const rows: Row[] = await db.query(OPENING, [
    projectId,
    sessionId,
    seen?.turnId ?? null,
    ...(seen?.position ?? START),
    withFrames,
    isOfSession,
  ]);
  const [place] = rows;
  if (place === undefined) return null;
  const { turn_id: turnId, turn_number: number } = place;
  if (turnId === null) return { kind: 'wait', seen: { turnId: null, number: 0 } };
  if (place.is_over) return isOfSession ? { kind: 'wait', seen: { turnId, number } } : { kind: 'over' };
  const after: Position = [place.stored, place.attempt_before, place.delta];
  const found = rows.filter(({ position }) => (position as number | null) !== null);
  return {
    kind: 'turn',
    sessionId,
    turnId,
    number,
    isOpen: place.is_open,
    after,
    position: place.turn_position,
    ...(withFrames ? framesOfRows(turnId, found, after) : { frames: [], hasMore: true }),
  };
}
