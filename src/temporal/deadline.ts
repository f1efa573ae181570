import {
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import pRetry from 'p-retry';
import { workflowCalls } from '../platform/metrics.js';

const DEADLINE_MS = 10_000;
/** For a connection that was just lost; the reconciler retries after that. */
const RETRIES = 3;
/** Codes of gRPC. */
const PASSING: ReadonlyMap<number, string> = new Map([
  [8, 'RESOURCE_EXHAUSTED'],
  [10, 'ABORTED'],
  [14, 'UNAVAILABLE'],
]);

/** Makes the function that runs calls of the client: each gives up after 10 s, the reconciler tries again. */
export function createDeadline(client: Client): <T>(work: () => Promise<T>) => Promise<T> {
  return (work) => {
    const deadline = Date.now() + DEADLINE_MS;
    return pRetry(() => counted(client.withDeadline(deadline, work)), {
      retries: RETRIES,
      minTimeout: 50,
      shouldRetry: ({ error }) => passingCode(error) !== undefined,
    });
  };
}

/** Counts a call by its outcome. That a workflow is not there, or there already, is an answer. */
async function counted<T>(call: Promise<T>): Promise<T> {
  try {
    const result = await call;
    workflowCalls.inc({ outcome: 'ok' });
    return result;
  } catch (error) {
    const isAnswer = error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError;
    workflowCalls.inc({ outcome: isAnswer ? 'ok' : (passingCode(error) ?? 'failed') });
    throw error;
  }
}

/** The name of a gRPC failure that passes. */
function passingCode(error: unknown): string | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? PASSING.get(cause.code) : undefined;
}
