import { useEffect } from 'preact/hooks';

const POLL_INTERVAL_MS = 5_000;

/** Looks at once and then every five seconds, for what no event tells of. A hidden page does not look. */
export function usePoll(isNeeded: boolean, look: () => Promise<unknown>, dependencies: unknown[]): void {
  useEffect(() => {
    if (!isNeeded) return;
    // What fails here fails for the session too, which shows it.
    const poll = (): void => void (document.hidden || look().catch(() => undefined));
    poll();
    const timer = setInterval(poll, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isNeeded, ...dependencies]);
}
