/**
 * A position in a turn's stream: the last stored event, then the attempt of the model call and the delta after that
 * event. Stored event n is [n, 0, 0]; delta d of attempt a after it is [n, a, d]. Commit order is position order.
 */
export type Position = readonly [stored: number, attempt: number, delta: number];

export const START: Position = [0, 0, 0];

export function comparePositions(a: Position, b: Position): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** The SSE id of a frame: `<turn_id>:<position>`. */
export function formatEventId(turnId: string, position: Position): string {
  return position[1] === 0 ? `${turnId}:${position[0]}` : `${turnId}:${position.join('.')}`;
}

/** Parses a `Last-Event-ID`; null if it is not one of our ids. */
export function parseEventId(id: string): { turnId: string; position: Position } | null {
  const match = /^(turn_[0-9a-z]{26}):(\d{1,9})(?:\.(\d{1,9})\.(\d{1,9}))?$/.exec(id);
  if (match === null) return null;
  return { turnId: match[1]!, position: [Number(match[2]), Number(match[3] ?? 0), Number(match[4] ?? 0)] };
}
