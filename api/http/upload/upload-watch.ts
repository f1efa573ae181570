import type { IncomingMessage } from 'node:http';
import type { ServiceError } from '../../../src/platform/errors.js';
import { BODY_IDLE_MS, requestTimeout } from '../core/read-body.js';

/** Slower uploads would keep their temporary file for hours. */
const MIN_BYTES_PER_SECOND = 16 * 1024;

export interface UploadPace {
  /** After this time without a byte, or below the minimum rate, the upload is aborted. */
  idleMs?: number;
  minBytesPerSecond?: number;
}

/** Aborts an upload that stalls, or that stays below the minimum rate for a whole window (contract.md §1). */
export class UploadWatch {
  readonly #idle: NodeJS.Timeout;
  readonly #window: NodeJS.Timeout;
  #arrived = 0;
  /** True if the disk was too slow in this window: then the client is not to blame for a low rate. */
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
