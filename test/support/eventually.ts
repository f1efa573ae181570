const POLL_MS = 20;
const TIMEOUT_MS = 30_000;

/** Polls until `holds` is true. @throws after 30 s, so that nothing keeps polling when its test has failed */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + TIMEOUT_MS; performance.now() < deadline;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`not within ${TIMEOUT_MS / 1000} s: ${what}`);
}
