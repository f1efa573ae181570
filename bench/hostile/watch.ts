import { setTimeout as pause } from 'node:timers/promises';
import { memoryOf } from '../../test/support/memory.js';

const HEALTH_INTERVAL_MS = 20;

/** Asks /healthz over and over, and remembers the longest wait for an answer and the largest memory. */
export class Watch {
  #isOver = false;
  #gapMs = 0;
  #most = 0;

  constructor(url: string, pid: number) {
    void this.#ask(url, pid);
  }

  async #ask(url: string, pid: number): Promise<void> {
    while (!this.#isOver) {
      const started = performance.now();
      const isWell = await fetch(`${url}/healthz`).then(
        async (response) => (await response.arrayBuffer(), response.ok),
        () => false,
      );
      if (isWell) this.#gapMs = Math.max(this.#gapMs, performance.now() - started);
      else this.#gapMs = Number.POSITIVE_INFINITY;
      this.#most = Math.max(this.#most, memoryOf(pid, 'VmRSS'));
      await pause(HEALTH_INTERVAL_MS);
    }
  }

  stop(): { gapMs: number; most: number } {
    this.#isOver = true;
    return { gapMs: this.#gapMs, most: this.#most };
  }
}
