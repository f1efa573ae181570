/**
 * A place in a turn's stream: the last stored event, and behind it the deltas of one model call's attempt. Stored event
 * n is [n, 0, 0]; delta d of attempt a after it is [n, a, d]. Commit order is position order.
 */
export type Position = readonly [stored: number, attempt: number, delta: number];

export const START: Position = [0, 0, 0];

/** Negative when a comes first. */
export function comparePositions(a: Position, b: Position): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** The SSE id of spec.md "Stream" 3: `<turn_id>:<position>`. */
export function formatEventId(turnId: string, position: Position): string {
  return position[1] === 0 ? `${turnId}:${position[0]}` : `${turnId}:${position.join('.')}`;
}

/** Reads a `Last-Event-ID`; null when it is none of this service's. */
export function parseEventId(id: string): { turnId: string; position: Position } | null {
  const match = /^(turn_[0-9a-z]{26}):(\d{1,9})(?:\.(\d{1,9})\.(\d{1,9}))?$/.exec(id);
  if (match === null) return null;
  return { turnId: match[1]!, position: [Number(match[2]), Number(match[3] ?? 0), Number(match[4] ?? 0)] };
}
