import { isGrpcServiceError, ServiceError, type Client } from '@temporalio/client';
import pRetry from 'p-retry';

const DEADLINE_MS = 10_000;
/** For a connection that was just lost; the reconciler retries after that. */
const RETRIES = 3;
/** gRPC: RESOURCE_EXHAUSTED, ABORTED, UNAVAILABLE. */
const PASSING: ReadonlySet<number> = new Set([8, 10, 14]);

/** Makes the function that runs calls of the client: each gives up after 10 s, the reconciler tries again. */
export function createDeadline(client: Client): <T>(work: () => Promise<T>) => Promise<T> {
  return (work) => {
    const deadline = Date.now() + DEADLINE_MS;
    return pRetry(() => client.withDeadline(deadline, work), {
      retries: RETRIES,
      minTimeout: 50,
      shouldRetry: ({ error }) => isPassing(error),
    });
  };
}

function isPassing(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && PASSING.has(cause.code);
}
