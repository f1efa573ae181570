import type { DataSource } from 'typeorm';
import type { Logger } from '../../src/platform/logger.js';
import { openStreams } from '../../src/platform/metrics.js';
import { liveKeyIds } from '../../src/projects/api-keys.js';

const CHECK_MS = 4000;

/**
 * The event streams that this process serves. They end when the process drains, so that clients reconnect elsewhere,
 * and within 10 s of their key's revocation (contract.md §5 `keys`).
 */
export class OpenStreams {
  #streams = new Map<AbortController, string>();
  #timer: NodeJS.Timeout;
  #closed = false;

  constructor(
    private readonly db: DataSource,
    private readonly log: Logger,
  ) {
    this.#timer = setInterval(() => void this.#endRevoked(), CHECK_MS);
  }

  /** Runs one stream; its signal aborts when it has to end. */
  async run(keyId: string, serve: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const controller = new AbortController();
    // Its request was under way when the process began to drain: kept open, it would hold the drain up to its end.
    if (this.#closed) controller.abort();
    this.#streams.set(controller, keyId);
    openStreams.inc();
    try {
      await serve(controller.signal);
    } finally {
      this.#streams.delete(controller);
      openStreams.dec();
    }
  }

  /** Ends all of them, each after its current frame, and whatever opens from now on. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const controller of this.#streams.keys()) controller.abort();
  }

  async #endRevoked(): Promise<void> {
    const keys = [...new Set(this.#streams.values())];
    if (keys.length === 0) return;
    try {
      const live = await liveKeyIds(this.db, keys);
      for (const [controller, keyId] of this.#streams) if (!live.has(keyId)) controller.abort();
    } catch (err) {
      this.log.warn({ err }, 'the keys of open streams could not be checked, the next check follows');
    }
  }
}
