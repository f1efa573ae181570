import type { TurnState } from '../db/turn-states.js';

/** The turn has ended and accepts no more changes. */
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
