/** Rounds that run until they are stopped. */
export interface Repeated {
  /** Begins the next round within so many ms, however often it is asked. */
  soon(withinMs: number): void;
  /** Stops after the current round. */
  stop(): Promise<void>;
}

/** Runs rounds, one after the other. Each returns the pause until the next one in ms, and never throws. */
export function repeat(firstPauseMs: number, round: () => Promise<number>): Repeated {
  let stopped = false;
  let soonest = Infinity;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  const next = (pauseMs: number): void => {
    if (stopped) return;
    timer = setTimeout(begin, Math.min(soonest, pauseMs));
  };
  const begin = (): void => {
    timer = undefined;
    soonest = Infinity;
    current = round().then(next);
  };
  next(firstPauseMs);
  return {
    soon(withinMs) {
      if (soonest <= withinMs) return;
      soonest = withinMs;
      if (timer === undefined) return;
      clearTimeout(timer);
      next(withinMs);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await current;
    },
  };
}
