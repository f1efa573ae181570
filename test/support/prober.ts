import { setTimeout as sleep } from 'node:timers/promises';

/** What a client saw that asked again and again. */
export interface Probed {
  requests: number;
  /** Those that failed and were answered at the second try, which every client of ours makes. */
  tried_twice: number;
  /** Those without an answer at the second try, or with one of 500 and above. */
  failed: number;
  /** The longest time from one good answer to the next, in milliseconds. */
  longestAwayMs: number;
  /** Of the failures, each kind once. */
  reasons: string[];
}

const PAUSE_MS = 50;

/** Asks `path` on a new connection every 50 ms until it is stopped. */
export function startProber(url: string, key: string, path = '/v1/models'): { stop(): Promise<Probed> } {
  const stopped = new AbortController();
  const probed: Probed = { requests: 0, tried_twice: 0, failed: 0, longestAwayMs: 0, reasons: [] };
  const note = (reason: string): void => {
    if (!probed.reasons.includes(reason)) probed.reasons.push(reason);
  };
  /** Null for a good answer. */
  const ask = async (): Promise<string | null> => {
    const reason = await fetch(url + path, {
      headers: { Authorization: `Bearer ${key}`, Connection: 'close' },
      signal: AbortSignal.timeout(20_000),
    }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status >= 500 ? `status ${response.status}` : null;
      },
      (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message),
    );
    if (reason !== null) note(reason);
    return reason;
  };
  const probing = async (): Promise<void> => {
    // Since the last good answer, once something has failed.
    let awaySince = performance.now();
    let isAway = false;
    while (!stopped.signal.aborted) {
      probed.requests += 1;
      const began = performance.now();
      let failure = await ask();
      if (failure !== null) {
        failure = await ask();
        if (failure === null) probed.tried_twice += 1;
        else probed.failed += 1;
      }
      if (failure !== null) isAway = true;
      else {
        if (isAway) probed.longestAwayMs = Math.max(probed.longestAwayMs, performance.now() - awaySince);
        isAway = false;
        awaySince = began;
      }
      await sleep(PAUSE_MS);
    }
  };
  const end = probing();
  return {
    async stop() {
      stopped.abort();
      await end;
      return probed;
    },
  };
}
