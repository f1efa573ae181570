import type { TurnNotification } from './notify.js';
import type { SeenTurn } from './opening.js';
import type { TurnReader } from './reader.js';

/** More than come while a statement runs. */
const MAX_KEPT = 1000;

/**
 * The notifications of a session from before a stream of it reads the tables until a reader follows its turn: what is stored
 * in between is not in what the stream has read, and there is no reader yet to take it.
 */
export class SessionOpening {
  #kept: TurnNotification[] = [];
  #isFull = false;
  #wake: () => void = () => undefined;

  /**
   * `listening` resolves when the notifications arrive. `seen` is known when the stream waits for the turn after it, or went on
   * to it from another.
   */
  constructor(
    readonly sessionId: string,
    readonly listening: Promise<void>,
    public seen: SeenTurn | null,
  ) {}

  /** Call before a read of the tables. What it returns resolves at the next notification, or by `wake`. */
  begin(): Promise<void> {
    this.#kept = [];
    this.#isFull = false;
    return new Promise((resolve) => (this.#wake = resolve));
  }

  take(notification: TurnNotification): void {
    // The end of a turn is notified twice in the process that stores it.
    if (notification.turnId === this.seen?.turnId) return;
    if (this.#kept.length < MAX_KEPT) this.#kept.push(notification);
    else this.#isFull = true;
    this.#wake();
  }

  wake(): void {
    this.#wake();
  }

  giveTo(reader: TurnReader): void {
    for (const notification of this.#kept) if (notification.turnId === reader.turnId) reader.take(notification);
    if (this.#isFull) reader.catchUp();
    this.#kept = [];
  }
}
