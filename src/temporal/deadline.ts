import {
  ActivityNotFoundError,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import pRetry from 'p-retry';
import { workflowCalls } from '../platform/metrics.js';
import { CALL_TIMEOUT_MS } from './connection.js';

/** Retries for a connection that was just lost. After them, the reconciler retries. */
const RETRIES = 3;
/** gRPC status codes. */
const PASSING: ReadonlyMap<number, string> = new Map([
  [8, 'RESOURCE_EXHAUSTED'],
  [10, 'ABORTED'],
  [14, 'UNAVAILABLE'],
]);
const ANSWERS = [ActivityNotFoundError, WorkflowNotFoundError, WorkflowExecutionAlreadyStartedError];

/** Returns a function that runs calls of the client with a deadline of 10 s. After that, the reconciler tries again. */
export function createDeadline(client: Client): <T>(work: () => Promise<T>) => Promise<T> {
  return (work) => {
    const deadline = Date.now() + CALL_TIMEOUT_MS;
    return pRetry(() => counted(client.withDeadline(deadline, work)), {
      retries: RETRIES,
      minTimeout: 50,
      shouldRetry: ({ error }) => passingCode(error) !== undefined,
    });
  };
}

/** Counts a call by its outcome. "Not found" and "already started" count as answers. */
async function counted<T>(call: Promise<T>): Promise<T> {
  try {
    const result = await call;
    workflowCalls.inc({ outcome: 'ok' });
    return result;
  } catch (error) {
    const isAnswer = ANSWERS.some((type) => error instanceof type);
    workflowCalls.inc({ outcome: isAnswer ? 'ok' : (passingCode(error) ?? 'failed') });
    throw error;
  }
}

const DEADLINE_EXCEEDED = 4;

/** True if the error means that Temporal is away or accepts no more calls now, whatever the call. */
export function isTemporalAway(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return passingCode(error) !== undefined || (isGrpcServiceError(cause) && Number(cause.code) === DEADLINE_EXCEEDED);
}

/** The name of a retryable gRPC error. */
function passingCode(error: unknown): string | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? PASSING.get(cause.code) : undefined;
}
