import pRetry from 'p-retry';
import { isDatabaseAway } from '../../src/db/transaction.js';

/**
 * Stores an outcome that was paid for or exists only once: while Postgres is away it is held and the commit tried again
 * here, instead of calling the model or the tool a second time. Ends with the activity's signal.
 */
export function storeOutcome<T>(store: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return pRetry(store, {
    retries: 1000,
    minTimeout: 100,
    maxTimeout: 2000,
    signal,
    shouldRetry: ({ error }) => isDatabaseAway(error),
  });
}
