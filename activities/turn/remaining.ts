import { loadRunningMs } from '../../src/turns/running-ms.js';
import type { ActivityDeps } from '../deps.js';

/** What is left of the turn's time. */
export async function remainingMsOf({ db, config }: ActivityDeps, turnId: string): Promise<number> {
  return Math.max(0, Math.round(config.turnTimeoutSeconds * 1000 - (await loadRunningMs(db, turnId))));
}
