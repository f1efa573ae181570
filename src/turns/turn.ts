import type { TurnState } from '../db/turn-states.js';

/** One attempt of an activity. Calls record it, so that it can be taken over when its worker dies. */
export interface ActivityTask {
  /** The worker's identity in Temporal. */
  workerId: string;
  /** Names the attempt in Temporal. No secret, but of no use to people: never logged. */
  token: Uint8Array;
}

/** The turn has ended and accepts no more writes. */
export class TurnEndedError extends Error {
  /** `state` is null if the turn's row does not exist. */
  constructor(
    turnId: string,
    readonly state: TurnState | null = null,
  ) {
    super(`${turnId} has ended and takes no more writes`);
    this.name = 'TurnEndedError';
  }
}

/** The turn is open, but another attempt at the same work was first. The next attempt finds its outcome. */
export class OvertakenError extends Error {
  constructor(turnId: string) {
    super(`another attempt has written to ${turnId}`);
    this.name = 'OvertakenError';
  }
}
