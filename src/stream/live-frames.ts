import { countDeltas } from './delta-batch.js';
import { framesOfDeltas, framesOfEvents, type Frame } from './frames.js';
import type { TurnNotification } from './notify.js';
import { comparePositions, type StreamPlace, type Position } from './position.js';

/**
 * The frames of a notification after a place, possibly none. Null if frames are missing in between, or if the notification does not
 * contain its frames: they are read from the tables. Earlier calls after the same event may have deltas, which are in the table by
 * then: the first delta of a call is accepted right after a read, or if there was no earlier call.
 */
export function liveFrames({ turnId, at }: StreamPlace, one: TurnNotification, wasRead: boolean): Frame[] | null {
  if (one.turnId !== turnId) return null;
  const [turn, stored, call, delta] = at;
  if (comparePositions(lastOf(one, turn), at) <= 0) return [];
  if (one.kind === 'stored') {
    if (one.live === null || comparePositions([turn, ...one.live.after], at) !== 0) return null;
    return framesOfEvents(one.live.events, turn);
  }
  if (one.position !== stored) return null;
  const isFirst = one.first === 1 && one.call > call && (wasRead || one.isFirstSinceEvent);
  const follows = one.call === call ? one.first <= delta + 1 : isFirst;
  return follows ? [...framesOfDeltas(one, turn, { after: at, sentAt: one.sentAt })] : null;
}

/** Orders notifications by their position in the turn of a place; other turns come later. */
export function sortNotifications(
  notifications: TurnNotification[],
  { turnId, at: [turn] }: StreamPlace,
): TurnNotification[] {
  return notifications.toSorted((a, b) => {
    const later = Number(a.turnId !== turnId) - Number(b.turnId !== turnId);
    return later || comparePositions(firstOf(a, turn), firstOf(b, turn));
  });
}

function firstOf(one: TurnNotification, turn: number): Position {
  return one.kind === 'deltas' ? [turn, one.position, one.call, one.first] : [turn, one.position, 0, 0];
}

function lastOf(one: TurnNotification, turn: number): Position {
  if (one.kind === 'stored') return [turn, one.position, 0, 0];
  return [turn, one.position, one.call, one.first + countDeltas(one.runs) - 1];
}
