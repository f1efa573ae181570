/** Attempts that `Retry-After` may add ahead of the schedule; later ones only postpone. */
const MAX_EARLY_ATTEMPTS = 10;
const MIN_EARLY_SECONDS = 1;
const MAX_RETRY_AFTER_SECONDS = 86_400;
/** Attempts come up to a tenth of the pause later, so that deliveries that failed together do not come back together. */
const JITTER = 0.1;

export interface FailedSoFar {
  /** Attempts made, the one that just failed included. */
  attempts: number;
  /** Pauses of the schedule that were used up. */
  pauses: number;
}

/** The next attempt: seconds from now, and the pauses that are used up then. */
export interface NextAttempt {
  afterSeconds: number;
  pauses: number;
}

/**
 * When to try again after a failed attempt; null when the schedule is used up. A `Retry-After` beyond the schedule's
 * pause replaces it. A shorter one is honoured too and uses up no pause: a receiver that asks to be tried again soon
 * does not lose its deliveries by that.
 */
export function nextAttempt(
  schedule: readonly number[],
  { attempts, pauses }: FailedSoFar,
  retryAfterSeconds: number | null,
  random: () => number = Math.random,
): NextAttempt | null {
  const pause = schedule[pauses];
  if (pause === undefined) return null;
  const jitter = 1 + JITTER * random();
  const requested = retryAfterSeconds === null ? null : Math.min(retryAfterSeconds, MAX_RETRY_AFTER_SECONDS);
  if (requested !== null && requested < pause && attempts - 1 - pauses < MAX_EARLY_ATTEMPTS) {
    return { afterSeconds: Math.max(requested, MIN_EARLY_SECONDS) * jitter, pauses };
  }
  return { afterSeconds: Math.max(pause, requested ?? 0) * jitter, pauses: pauses + 1 };
}

/** Reads `Retry-After`, which is seconds or an HTTP date (RFC 9110 §10.2.3); null when absent or malformed. */
export function parseRetryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  // Date.parse reads far more than HTTP dates, "5.5" for one.
  const date = /^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000));
}
