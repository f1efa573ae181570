import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  proxyActivities,
  setCurrentDetails,
  sleep,
  TemporalFailure,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { TurnState } from '../src/db/turn-states.js';
import type { TurnFailureType } from '../src/events/fields.js';
import type { TurnActivities, UnsuccessfulOutcome } from '../activities/turn/turn-activities.js';
import { TURN_ENDED, type TurnInput } from './contract.js';
import { TurnRun } from './turn-run.js';

const { finishTurn } = proxyActivities<TurnActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
  summary: 'end of the turn',
});

/** After this time the workflow abandons an activity that ignores its cancellation. Late writes are fenced out. */
const CANCEL_CAP = '15 s';

/** How long a workflow whose turn was cancelled first waits for the cancel request, which the same POST cancel sends. */
const CANCEL_REQUEST_TIMEOUT = '30 s';

/** One turn, to its end. The last model call ends it; if it was cancelled or has failed, `finishTurn` does. */
export async function turn(input: TurnInput): Promise<TurnRun['summary']> {
  const run = new TurnRun(input);
  try {
    await abandonAfterCancel(play(run));
    await run.polled.close();
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    const ended = turnEndedIn(error);
    if (ended === null) {
      const ending = outcomeOf(error);
      setCurrentDetails(ending.kind === 'cancelled' ? 'cancelled' : `failed: ${ending.type}`);
      await CancellationScope.nonCancellable(() => finishTurn({ turnId: input.id, ending }));
    }
    await run.polled.close();
    if (ended === null) throw error;
    // Temporal shows the workflow as cancelled, even if something else ended the turn first.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The turn was cancelled.');
    run.summary.state = (ended.details?.[0] as TurnState | null | undefined) ?? null;
  }
  if (run.summary.state === 'cancelled') await waitForCancelRequest();
  return run.summary;
}

/**
 * A worker can get a cancel request from Postgres, and end the turn, before Temporal has it. The workflow waits for it, so
 * that operators see it as cancelled too.
 * @throws CancelledFailure when the request arrives
 */
function waitForCancelRequest(): Promise<void> {
  return sleep(CANCEL_REQUEST_TIMEOUT);
}

async function play(run: TurnRun): Promise<void> {
  await run.connect();
  for (;;) {
    const outcome = await run.callModel();
    if (outcome.kind === 'ended') return;
    await run.runTools(outcome);
    if ((await run.waitForOthers(outcome)) !== null) return;
    await run.nextStep();
  }
}

/** Waits for the work; after a cancel request, at most the grace period. */
function abandonAfterCancel(work: Promise<void>): Promise<void> {
  const overdue = CancellationScope.current().cancelRequested.catch(async (cancelled: unknown) => {
    await CancellationScope.nonCancellable(() => sleep(CANCEL_CAP));
    throw cancelled;
  });
  return Promise.race([work, overdue]);
}

/** Finds the failure that reports that something else, such as the reconciler, has already ended the turn. */
function turnEndedIn(error: TemporalFailure): ApplicationFailure | null {
  // The failure of a local activity comes without a frame around it.
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.type === TURN_ENDED ? cause : null;
}

/** The failures that end a turn under their own name: those of the model, and the turn's time limit. */
const KNOWN_FAILURES: readonly TurnFailureType[] = [
  'model_error',
  'model_overloaded',
  'model_rate_limited',
  'context_too_long',
  'turn_timeout',
];

/**
 * Returns how the turn ends after a failure. The cancellation scope decides, not the error: if the worker died, the error
 * is a timeout even though the user cancelled.
 */
function outcomeOf(error: TemporalFailure): UnsuccessfulOutcome {
  if (CancellationScope.current().consideredCancelled) return { kind: 'cancelled' };
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return { kind: 'failed', type: 'turn_timeout' };
  const type = cause instanceof ApplicationFailure ? KNOWN_FAILURES.find((name) => name === cause.type) : undefined;
  return { kind: 'failed', type: type ?? 'internal_error' };
}
