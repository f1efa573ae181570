import { ActivityCancellationType, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { TurnActivities } from '../activities/turn/turn-activities.js';

/** Heartbeat timeout for a worker that runs but has lost Temporal. A dead worker's lease expires within seconds. */
const HEARTBEAT_TIMEOUT = '90 s';
/** A backstop for calls that may ask a person. */
const ASKING_TIMEOUT = '366 days';

/**
 * The turn's activities, each with the turn's remaining time as its timeout. Those that may ask a person watch that time by
 * themselves: it does not run while they wait.
 */
export function proxyTurnActivities(summary: string, remainingMs: number, mayAsk: boolean): TurnActivities {
  if (remainingMs <= 0) throw ApplicationFailure.nonRetryable('The time of the turn is over.', 'turn_timeout');
  return proxyActivities<TurnActivities>({
    ...(mayAsk ? { startToCloseTimeout: ASKING_TIMEOUT } : { scheduleToCloseTimeout: remainingMs }),
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' },
    summary,
  });
}
