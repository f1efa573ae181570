import pRetry from 'p-retry';
import { isDatabaseAway } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';

/**
 * Stores the start or the outcome of a call. While Postgres or the file storage is unreachable, it keeps the outcome in memory and retries the
 * commit, instead of calling the model or the tool a second time. Stops when the activity's signal aborts.
 */
export function storeWithRetries<T>(store: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return pRetry(store, {
    retries: 1000,
    minTimeout: 100,
    maxTimeout: 2000,
    signal,
    shouldRetry: ({ error }) =>
      isDatabaseAway(error) || (error instanceof ServiceError && error.type === 'storage_error'),
  });
}
