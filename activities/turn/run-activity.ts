import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, TemporalFailure } from '@temporalio/common';
import { ServiceError } from '../../src/platform/errors.js';
import { isDatabaseAway } from '../../src/db/transaction.js';
import type { Logger } from '../../src/platform/logger.js';
import { endTurn } from '../../src/turns/finish.js';
import type { ActivityDeps } from '../deps.js';
import { OvertakenError, TurnEndedError } from '../../src/turns/turn.js';
import { TURN_ENDED } from '../../workflows/contract.js';

/** Temporal gets a heartbeat every 6 s at most (the worker's throttle). */
const HEARTBEAT_INTERVAL_MS = 1000;
const AWAY_RETRY = '1 s';
/** After so many unknown faults the turn ends as internal_error: the fault does not pass. */
const MAX_UNKNOWN_FAULTS = 10;

/** What heartbeats carry: Temporal gives it to the next attempt, also after this process died. */
interface HeartbeatDetails {
  /** Attempts count outages too, so they are no measure of unknown faults. */
  unknownFaults: number;
}

/**
 * Runs the body of an activity: beats from entry to exit (models think in silence), and turns what it throws into what
 * Temporal acts on. Only a user's cancel is a cancel; a worker that shuts down, a pause or a reset hand the work over.
 * Messages of failures are fixed texts: histories hold no content (docs/architecture.md).
 */
export async function runActivity<T>(
  deps: Pick<ActivityDeps, 'db' | 'notifier' | 'log' | 'runningTurns'>,
  ids: { turn_id: string; step?: number; index?: number },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { log, runningTurns } = deps;
  const context = Context.current();
  const running = runningTurns.track(ids.turn_id);
  const began = performance.now();
  const details: HeartbeatDetails = { unknownFaults: 0, ...(context.info.heartbeatDetails as HeartbeatDetails | null) };
  const tell = (outcome: string): void => {
    const { activityType: activity, attempt } = context.info;
    log.info({ ...ids, activity, attempt, outcome, ms: Math.round(performance.now() - began) }, 'activity');
  };
  const beat = setInterval(() => context.heartbeat(details), HEARTBEAT_INTERVAL_MS);
  try {
    const result = await work(AbortSignal.any([context.cancellationSignal, running.signal]));
    tell('ok');
    return result;
  } catch (thrown) {
    const error = running.signal.aborted ? await endCancelled(deps, ids.turn_id, thrown) : thrown;
    const failure = knownFailure(error, context) ?? unknownFault(error, context, details, log.child(ids));
    tell(failure instanceof ApplicationFailure ? (failure.type ?? 'failed') : 'cancelled');
    throw failure;
  } finally {
    running.done();
    clearInterval(beat);
  }
}

/** Ends a turn whose cancel reached this worker directly. What the activity streamed is stored by now. */
async function endCancelled(
  deps: Pick<ActivityDeps, 'db' | 'notifier' | 'log'>,
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

/** What Temporal is to do about a known fault; null for an unknown one. */
function knownFailure(error: unknown, context: Context): Error | null {
  if (error instanceof TurnEndedError) {
    return ApplicationFailure.nonRetryable('The turn has ended.', TURN_ENDED, error.state);
  }
  if (context.cancellationSignal.aborted) {
    return context.cancellationDetails?.cancelRequested === true
      ? new CancelledFailure('cancelled')
      : ApplicationFailure.retryable('This worker gave the work back.', 'HandedOver');
  }
  // Told as an end, it would leave a turn open that still runs. The next attempt finds the outcome, or the end.
  if (error instanceof OvertakenError) {
    return ApplicationFailure.retryable('Another attempt was quicker.', 'Overtaken');
  }
  if (error instanceof TemporalFailure) return error;
  if (isDatabaseAway(error)) {
    return ApplicationFailure.create({
      message: 'Postgres is away.',
      type: 'DatabaseAway',
      nextRetryDelay: AWAY_RETRY,
    });
  }
  if (error instanceof ServiceError && error.type === 'storage_error') {
    return ApplicationFailure.create({
      message: 'The storage is away.',
      type: 'StorageAway',
      nextRetryDelay: AWAY_RETRY,
    });
  }
  return null;
}

function unknownFault(error: unknown, context: Context, details: HeartbeatDetails, log: Logger): ApplicationFailure {
  const { info } = context;
  log.error({ err: error, activity: info.activityType, attempt: info.attempt }, 'an activity failed unexpectedly');
  details.unknownFaults += 1;
  context.heartbeat(details);
  return ApplicationFailure.create({
    message: 'An unexpected fault; the worker’s log has it under this turn’s id.',
    type: 'InternalError',
    nonRetryable: details.unknownFaults >= MAX_UNKNOWN_FAULTS,
  });
}
