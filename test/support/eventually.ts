/** Each look costs a request or a query, and hundreds of waits share two cores. */
const POLL_MS = 50;
const TIMEOUT_MS = 60_000;

/** Polls until `holds` is true. @throws after `timeoutMs`, so that nothing keeps polling when its test has failed */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
}
