/** How long a loop may keep the event loop from other work. */
const MAX_BLOCK_MS = 4;

/** The loops that pause, in the order in which they go on. */
const paused: (() => void)[] = [];

/** In each round of the event loop only one of them goes on: however many there are, a request waits for one piece a round. */
function resumeNext(): void {
  const resume = paused.shift()!;
  if (paused.length > 0) setImmediate(resumeNext);
  resume();
}

/**
 * Lets other work run when a loop has blocked the event loop for some milliseconds: `if (pauses.isDue) await pauses.take()` in each
 * round. Every loop whose length another party chose needs it.
 */
export class Pauses {
  #since = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#since > MAX_BLOCK_MS;
  }

  async take(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (paused.push(resolve) === 1) setImmediate(resumeNext);
    });
    this.#since = performance.now();
  }
}

/** As `map` of a list, and lets other work run meanwhile. */
export async function mapInPieces<T, U>(list: readonly T[], map: (one: T, index: number) => U): Promise<U[]> {
  const pauses = new Pauses();
  const mapped: U[] = [];
  for (const [index, one] of list.entries()) {
    if (pauses.isDue) await pauses.take();
    mapped.push(map(one, index));
  }
  return mapped;
}
