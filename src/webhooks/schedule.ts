/** Limit of attempts that `Retry-After` may make earlier than the schedule. After that it can only postpone. */
const MAX_EARLY_ATTEMPTS = 10;
const MIN_EARLY_SECONDS = 1;
const MAX_RETRY_AFTER_SECONDS = 86_400;
/**
 * Jitter: each attempt is up to a tenth of the pause late, so that deliveries that failed together do not retry
 * together.
 */
const JITTER = 0.1;

interface FailedSoFar {
  /** Attempts made, including the one that just failed. */
  attempts: number;
  /** Pauses of the schedule used so far. */
  pauses: number;
}

interface NextAttempt {
  afterSeconds: number;
  pauses: number;
}

/**
 * Schedules the next attempt after a failure; null if the schedule is used up. A `Retry-After` longer than the
 * schedule's pause replaces the pause. A shorter one is used too, but does not use up a pause: otherwise a receiver
 * that asks for an early retry would lose deliveries.
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
