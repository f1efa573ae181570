import type { IncomingMessage } from 'node:http';
import type { ServiceError } from '../../src/platform/errors.js';
import { BODY_IDLE_MS, requestTimeout } from './read-body.js';

/** A slower upload would hold its temporary file for hours. */
const MIN_BYTES_PER_SECOND = 16 * 1024;

export interface UploadPace {
  /** Time without a byte, or below the minimum rate, after which the upload is cut off. */
  idleMs?: number;
  minBytesPerSecond?: number;
}

/** Refuses an upload that sends nothing for a while, or less than the minimum rate over such a time (contract.md §1). */
export class UploadWatch {
  readonly #idle: NodeJS.Timeout;
  readonly #window: NodeJS.Timeout;
  #arrived = 0;
  /** The disk was behind in this window: what did not arrive was not asked for. */
  #wasPaused = false;

  constructor(
    private readonly request: IncomingMessage,
    refuse: (error: ServiceError) => void,
    { idleMs = BODY_IDLE_MS, minBytesPerSecond = MIN_BYTES_PER_SECOND }: UploadPace,
  ) {
    const minBytes = (minBytesPerSecond * idleMs) / 1000;
    this.#idle = setTimeout(() => refuse(requestTimeout()), idleMs);
    this.#window = setInterval(() => {
      if (this.#arrived < minBytes && this.#isReading()) refuse(requestTimeout());
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
