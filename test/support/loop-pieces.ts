import { readFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

const INTERVAL_MS = 5;

interface Piece {
  /** Processor time of this thread, without collections of garbage. */
  cpuMs: number;
  wallMs: number;
  during: string;
}

/**
 * Measures how long the event loop of this thread does not come around. A piece counts by the processor time that the thread took
 * in it: on a busy machine the clock goes on while it does nothing.
 */
export class LoopPieces {
  /** What the test does now. */
  during = '';
  readonly #late: { from: number; to: number; cpuMs: number; during: string }[] = [];
  readonly #collections: { from: number; ms: number }[] = [];
  readonly #observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) this.#collections.push({ from: startTime, ms: duration });
  });
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] });
    let [at, cpu] = [performance.now(), cpuMsOfThread()];
    const tick = (): void => {
      const [now, used] = [performance.now(), cpuMsOfThread()];
      if (now - at > 2 * INTERVAL_MS) this.#late.push({ from: at, to: now, cpuMs: used - cpu, during: this.during });
      [at, cpu] = [performance.now(), cpuMsOfThread()];
      this.#timer = setTimeout(tick, INTERVAL_MS);
    };
    this.#timer = setTimeout(tick, INTERVAL_MS);
  }

  /** Ends it and returns the longest pieces, the longest one first. */
  async stop(count: number): Promise<Piece[]> {
    clearTimeout(this.#timer);
    // Entries of collections come later than they happened.
    await new Promise((resolve) => setTimeout(resolve, 100));
    this.#observer.disconnect();
    const pieces = this.#late.map(({ from, to, cpuMs, during }): Piece => {
      const collected = this.#collections
        .filter((one) => one.from < to && one.from + one.ms > from)
        .reduce((sum, one) => sum + one.ms, 0);
      return {
        cpuMs: Math.round(Math.max(0, Math.min(cpuMs, to - from) - collected)),
        wallMs: Math.round(to - from),
        during,
      };
    });
    return pieces.sort((a, b) => b.cpuMs - a.cpuMs).slice(0, count);
  }
}

const ROWS = Array.from({ length: 20_000 }, (_, n) => ({ path: `folder/${n}/${(n * 7919) % 10_007}`, size: n }));
/** What sorting and copying ROWS takes a core of a server, whose pieces are promised to be short, in ms. */
const ROWS_MS = 25;

/** How many times longer than a core of a server this thread takes for the same work: at least 1. */
export function slowness(): number {
  const times = Array.from({ length: 9 }, () => {
    const before = cpuMsOfThread();
    const copy = JSON.parse(JSON.stringify(ROWS)) as typeof ROWS;
    JSON.stringify(copy.sort((a, b) => (a.path < b.path ? -1 : 1)));
    return cpuMsOfThread() - before;
  });
  return Math.max(1, Math.min(...times) / ROWS_MS);
}

/** The processor time of the main thread, whose number is that of the process. */
function cpuMsOfThread(): number {
  const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ');
  return Number(ns) / 1e6;
}
