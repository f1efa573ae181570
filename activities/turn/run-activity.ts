import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure, TemporalFailure } from '@temporalio/common';
import { ServiceError } from '../../src/platform/errors.js';
import { isDatabaseAway } from '../../src/db/transaction.js';
import type { Logger } from '../../src/platform/logger.js';
import { endTurn } from '../../src/turns/end.js';
import type { ActivityDeps } from '../deps.js';
import { Heartbeat } from './heartbeat.js';
import { OvertakenError, TurnEndedError } from '../../src/turns/errors.js';
import { MAX_LOST_WORKERS_OF_MODEL_CALL } from '../../src/steps/lost-workers.js';
import type { AttemptId } from '../../src/steps/model-call.js';
import { TURN_ENDED } from '../../workflows/contract.js';

const RETRY_DELAY = '1 s';
/** After this many unexpected errors the turn ends as internal_error. */
const MAX_UNKNOWN_FAULTS = 10;

/** Heartbeat details. Temporal passes them to the next attempt, even if this process dies. */
interface HeartbeatDetails {
  /** Counted here, because Temporal's attempts also count outages. */
  unknownFaults: number;
  /** Attempts that ended by themselves. The other ones lost their worker. */
  endedAttempts: number;
}

export interface Attempt {
  /** What a call records, so that it can be taken over. */
  id: AttemptId;
  /** How many earlier attempts ended because their worker was lost. */
  lostWorkers: number;
  /** True if the attempt was aborted because the grace of its worker has ended. */
  isWorkerStopping: () => boolean;
  /** Sends fewer heartbeats until the returned function runs: thousands of calls may wait for a person. */
  beatSlowly: () => () => void;
}

/**
 * Runs the body of an activity. Sends heartbeats until it returns (a model may be silent for long) and converts its
 * errors to failures for Temporal. Only a user's cancel request cancels the turn; after a worker shutdown, a pause or a
 * reset another attempt continues. Failure messages are fixed texts, because histories must not contain content
 * (docs/architecture.md). The attempts of a poll end by failing: they are not counted and not logged.
 */
export async function runActivity<T>(
  deps: Pick<ActivityDeps, 'db' | 'notifier' | 'log' | 'workflows' | 'abortableActivities' | 'workerId'>,
  ids: { turn_id: string; step?: number; index?: number },
  work: (signal: AbortSignal, attempt: Attempt) => Promise<T>,
  { isPoll = false } = {},
): Promise<T> {
  const { log, abortableActivities, workerId } = deps;
  const context = Context.current();
  const tracked = abortableActivities.track(ids.turn_id);
  const began = performance.now();
  const details: HeartbeatDetails = {
    unknownFaults: 0,
    endedAttempts: 0,
    ...(context.info.heartbeatDetails as HeartbeatDetails | null),
  };
  const lostWorkers = isPoll ? 0 : Math.max(0, context.info.attempt - 1 - details.endedAttempts);
  if (lostWorkers > 0) {
    const { activityType: activity, attempt } = context.info;
    log.warn(
      { ...ids, activity, attempt, lost_workers: lostWorkers },
      'earlier attempts of an activity lost their workers',
    );
  }
  const logOutcome = (outcome: string): void => {
    const { activityType: activity, attempt } = context.info;
    log.info({ ...ids, activity, attempt, outcome, ms: Math.round(performance.now() - began) }, 'activity');
  };
  const beat = new Heartbeat(() => context.heartbeat(details));
  try {
    const signal = AbortSignal.any([context.cancellationSignal, tracked.signal]);
    const result = await work(signal, {
      id: { workerId, token: context.info.taskToken },
      lostWorkers,
      isWorkerStopping: () => !tracked.signal.aborted && context.cancellationDetails?.workerShutdown === true,
      beatSlowly: () => beat.beatSlowly(),
    });
    logOutcome('ok');
    return result;
  } catch (thrown) {
    const error = tracked.signal.aborted ? await endCancelled(deps, ids.turn_id, thrown) : thrown;
    const failure = knownFailure(error, context) ?? unexpectedFailure(error, context, details, log.child(ids));
    if (isBenign(failure)) throw failure;
    details.endedAttempts += 1;
    context.heartbeat(details);
    logOutcome(failure instanceof ApplicationFailure ? (failure.type ?? 'failed') : 'cancelled');
    throw failure;
  } finally {
    tracked.done();
    beat.stop();
  }
}

function isBenign(failure: Error): boolean {
  return failure instanceof ApplicationFailure && failure.category === ApplicationFailureCategory.BENIGN;
}

/** Ends a turn whose cancel request reached this worker directly. Its call has already stored its streamed text. */
async function endCancelled(
  deps: Pick<ActivityDeps, 'db' | 'notifier' | 'log' | 'workflows'>,
  turnId: string,
  thrown: unknown,
): Promise<unknown> {
  if (thrown instanceof TurnEndedError) return thrown;
  try {
    await endTurn(deps, turnId, { kind: 'cancelled' });
    return new TurnEndedError(turnId, 'cancelled');
  } catch (error) {
    return error;
  }
}

/** Converts a known error to a failure for Temporal; null for an unexpected error. */
function knownFailure(error: unknown, context: Context): Error | null {
  if (error instanceof TurnEndedError) {
    return ApplicationFailure.nonRetryable('The turn has ended.', TURN_ENDED, error.state);
  }
  const isInterrupted = context.cancellationSignal.aborted;
  if (isInterrupted && context.cancellationDetails?.cancelRequested === true) return new CancelledFailure('cancelled');
  if (isInterrupted) {
    return again('This attempt was interrupted; another one continues.', 'HandedOver');
  }
  // Retryable: reported as "the turn has ended", it would leave a running turn open. The next attempt finds the stored
  // outcome, or that the turn has ended.
  if (error instanceof OvertakenError) {
    return again('Another attempt finished first.', 'Overtaken');
  }
  if (error instanceof TemporalFailure) return error;
  if (isDatabaseAway(error)) {
    return again('Postgres is unreachable.', 'DatabaseAway');
  }
  if (error instanceof ServiceError && error.type === 'storage_error') {
    return again('The file storage is unreachable.', 'StorageAway');
  }
  return null;
}

/** Without a delay of its own, an attempt after an outage would wait 30 s: Temporal's backoff counts the outage's attempts. */
function again(message: string, type: string): ApplicationFailure {
  return ApplicationFailure.create({ message, type, nextRetryDelay: RETRY_DELAY });
}

function unexpectedFailure(
  error: unknown,
  context: Context,
  details: HeartbeatDetails,
  log: Logger,
): ApplicationFailure {
  const { info } = context;
  log.error({ err: error, activity: info.activityType, attempt: info.attempt }, 'an activity failed unexpectedly');
  details.unknownFaults += 1;
  return ApplicationFailure.create({
    message: 'Unexpected error. Search the worker’s log for this turn’s id.',
    type: 'InternalError',
    nonRetryable: details.unknownFaults >= MAX_UNKNOWN_FAULTS,
  });
}

/** @throws ApplicationFailure that ends the turn as internal_error */
export function endTurnAfterLostWorkers(lostWorkers: number): void {
  if (lostWorkers < MAX_LOST_WORKERS_OF_MODEL_CALL) return;
  throw ApplicationFailure.nonRetryable(`${lostWorkers} workers were lost during this activity.`, 'WorkersLost');
}
