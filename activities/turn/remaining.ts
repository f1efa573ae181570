import type { ActivityDeps } from '../deps.js';

/** What is left of the time of a turn that has run for `runningMs`. */
export function remainingMs({ config }: ActivityDeps, runningMs: number): number {
  return Math.max(0, Math.round(config.turnTimeoutSeconds * 1000 - runningMs));
}
