import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../src/platform/errors.js';

/** Idle timeout of a body (docs/decisions.md "HTTP"). */
const BODY_IDLE_TIMEOUT_MS = 30_000;
/** A slower body would hold its connection, and what has arrived of it, for an hour. */
const MIN_BYTES_PER_SECOND = 16 * 1024;

export interface BodyPace {
  /** After this time without a byte, or below the minimum rate, the request is refused. */
  idleMs?: number;
  minBytesPerSecond?: number;
}

/** Refuses a body that stalls, or that stays below the minimum rate for a whole window (docs/decisions.md "HTTP"). */
export class BodyWatch {
  readonly #idle: NodeJS.Timeout;
  readonly #window: NodeJS.Timeout;
  #arrived = 0;
  /** True if the disk was too slow in this window: then the client is not to blame for a low rate. */
  #wasPaused = false;

  constructor(
    private readonly request: IncomingMessage,
    refuse: (error: ServiceError) => void,
    { idleMs = BODY_IDLE_TIMEOUT_MS, minBytesPerSecond = MIN_BYTES_PER_SECOND }: BodyPace,
  ) {
    const minBytes = (minBytesPerSecond * idleMs) / 1000;
    this.#idle = setTimeout(() => refuse(tooSlow()), idleMs);
    this.#window = setInterval(() => {
      if (this.#arrived < minBytes && this.#isReading()) refuse(tooSlow());
      this.#arrived = 0;
      this.#wasPaused = request.isPaused();
    }, idleMs);
  }

  #isReading(): boolean {
    return !this.#wasPaused && !this.request.isPaused() && !this.request.complete;
  }

  arrived(bytes: number): void {
    this.#arrived += bytes;
    this.#idle.refresh();
  }

  paused(): void {
    this.#wasPaused = true;
  }

  resumed(): void {
    this.#idle.refresh();
  }

  stop(): void {
    clearTimeout(this.#idle);
    clearInterval(this.#window);
  }
}

function tooSlow(): ServiceError {
  return new ServiceError(
    'request_timeout',
    'The body stopped arriving, or arrived too slowly. Send it again over a faster connection.',
    undefined,
    { Connection: 'close' },
  );
}
