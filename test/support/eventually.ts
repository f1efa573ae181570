/** Each look costs a request or a query, and many tests share two cores: the longer a wait, the rarer the looks. */
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 250;
const GROWTH = 1.3;
const TIMEOUT_MS = 60_000;

/** Polls until `holds` is true. @throws after `timeoutMs`, so that nothing keeps polling when its test has failed */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * GROWTH, MAX_PAUSE_MS);
  }
  throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
}
