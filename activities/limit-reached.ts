import { ApplicationFailure } from '@temporalio/common';

/**
 * Ends an attempt whose project, or all projects together, have their share of a worker: it gives its slot back before it begins, and
 * Temporal retries it later. So tools or receivers that hang cannot use up all slots.
 * @throws ApplicationFailure `ConcurrencyLimitReached`, retryable
 */
export function limitReached(): never {
  throw ApplicationFailure.retryable('The concurrency limit of this worker is reached.', 'ConcurrencyLimitReached');
}
