/** A position in a turn: the last stored event, then the number of the model call in the turn and its delta after that event. */
export type TurnPosition = readonly [stored: number, call: number, delta: number];

/**
 * A position in the stream of a session: the number of the turn, then the position in it. Stored event n of turn t is
 * [t, n, 0, 0]; delta d of call c after it is [t, n, c, d]. Commit order is position order.
 */
export type Position = readonly [turn: number, ...inTurn: TurnPosition];

/** A place in the stream of a session: who is here has everything before it. */
export interface StreamPlace {
  projectId: string;
  sessionId: string;
  /** Empty before the first turn; null if it is not known, which means the start of the open or last turn. */
  turnId: string | null;
  at: Position;
  /** The turn's terminal event is before this place. */
  isOver: boolean;
  /** Deltas follow. False in a turn that had ended when the stream came to it: only its stored events follow. */
  isLive: boolean;
}

export const START: Position = [0, 0, 0, 0];

export function comparePositions(a: Position, b: Position): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3];
}

/** The SSE id of a frame: `<turn_id>:<position>`, of a delta `<turn_id>:<position>.<call>.<delta>`. */
export function formatEventId(turnId: string, stored: number, call = 0, delta = 0): string {
  return call === 0 ? `${turnId}:${stored}` : `${turnId}:${stored}.${call}.${delta}`;
}

/** Parses a `Last-Event-ID`; null if it is not one of our ids. */
export function parseEventId(id: string): { turnId: string; position: TurnPosition } | null {
  const match = /^(turn_[0-9a-z]{26}):(\d{1,9})(?:\.(\d{1,9})\.(\d{1,9}))?$/.exec(id);
  if (match === null) return null;
  return { turnId: match[1]!, position: [Number(match[2]), Number(match[3] ?? 0), Number(match[4] ?? 0)] };
}
