/**
 * Runs rounds, one after the other. Each returns the pause until the next one in ms, and never throws. Returns a function that stops
 * after the current round.
 */
export function repeat(firstPauseMs: number, round: () => Promise<number>): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout;
  let current: Promise<void> = Promise.resolve();
  const next = (pauseMs: number): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      current = round().then(next);
    }, pauseMs);
  };
  next(firstPauseMs);
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await current;
  };
}
