import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../../src/platform/errors.js';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import { waitForRoom } from './wait-for-room.js';

const WAIT_TIMEOUT_MS = 30_000;
const RETRY_AFTER_S = '5';

/**
 * Limits the requests under way in this process that write thousands of rows, which takes seconds: one of a project, and of all projects so
 * many that they hold a fifth of the connections to Postgres. Further ones wait, and hold none.
 */
export class LongWrites {
  readonly #queue: FairQueue;

  constructor(
    poolSize: number,
    private readonly waitTimeoutMs = WAIT_TIMEOUT_MS,
  ) {
    this.#queue = new FairQueue({ total: Math.max(1, Math.floor(poolSize / 5)), perProject: 1 });
  }

  /** @throws ServiceError `too_many_requests` if the project's own take too long, `service_unavailable` if those of others do */
  async within<T>(projectId: string, res: ServerResponse, work: () => Promise<T>): Promise<T> {
    const refusal = (): ServiceError => (this.#queue.usedBy(projectId) > 0 ? ownRequests() : otherRequests());
    await waitForRoom(res, this.waitTimeoutMs, (signal) => this.#queue.take(projectId, signal), refusal);
    try {
      return await work();
    } finally {
      this.#queue.free(projectId);
    }
  }
}

function ownRequests(): ServiceError {
  return new ServiceError(
    'too_many_requests',
    'Other forks of the project, or other requests that write many rows, are under way, one at a time. Wait for them, then try again.',
    undefined,
    { 'Retry-After': RETRY_AFTER_S },
  );
}

function otherRequests(): ServiceError {
  return new ServiceError(
    'service_unavailable',
    'The service is busy with large requests of other projects. Try again.',
    undefined,
    { 'Retry-After': RETRY_AFTER_S },
  );
}
