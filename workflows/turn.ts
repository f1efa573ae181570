import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  proxyActivities,
  proxyLocalActivities,
  makeContinueAsNewFunc,
  setCurrentDetails,
  setWorkflowOptions,
  sleep,
  TemporalFailure,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { TurnState } from '../src/db/turn-states.js';
import type { TurnFailureType } from '../src/events/fields.js';
import type { TurnActivities, UnsuccessfulOutcome } from '../activities/turn/turn-activities.js';
import { TURN_ENDED, type EarlierTurnInput, type TurnInput, type TurnSummary } from './contract.js';
import { isVersioned } from './versioning.js';
import { turnActivities } from './turn-activities.js';
import { countSignals, waitForAnswers } from './wait.js';

const { beginTurn, advanceWait } = proxyLocalActivities<TurnActivities>({
  startToCloseTimeout: '5 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

const { finishTurn } = proxyActivities<TurnActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
  summary: 'end of the turn',
});

/** After this time the workflow abandons an activity that ignores its cancellation. Late writes are fenced out. */
const CANCEL_CAP = '15 s';
/** Limit for a piece of text in `setCurrentDetails`, to keep it readable in the UI. */
const SHOWN_TOOLS = 5;

/** Memo set on a run that continues a long wait. */
const LONG_WAIT = 'longWait';

/**
 * A turn stays on the build that started it, so that its code does not change. The exception is the run of a long wait,
 * which would keep an old build alive for days: its history is short, and any build can replay it
 * (docs/operations/workflow-changes.md).
 */
setWorkflowOptions(
  () => (workflowInfo().memo?.[LONG_WAIT] === true && isVersioned() ? { versioningBehavior: 'AUTO_UPGRADE' } : {}),
  turn,
);

/**
 * One turn: connect? → (call model → call tools → wait for answers)* → ended by the last model call. Cancelled or
 * failed → finish.
 */
export async function turn(input: TurnInput | EarlierTurnInput): Promise<TurnSummary> {
  const turnId = 'turnId' in input ? input.turnId : input.id;
  const done: TurnSummary = { state: null, stop_reason: null, steps: 0 };
  try {
    await abandonAfterCancel(run(input, done));
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    const ended = turnEndedIn(error);
    if (ended === null) {
      const ending = outcomeOf(error);
      setCurrentDetails(ending.kind === 'cancelled' ? 'cancelled' : `failed: ${ending.type}`);
      await CancellationScope.nonCancellable(() => finishTurn({ turnId, ending }));
      throw error;
    }
    // Temporal shows the workflow as cancelled, even if something else ended the turn first.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('The turn was cancelled.');
    done.state = (ended.details?.[0] as TurnState | null | undefined) ?? null;
  }
  return done;
}

async function run(input: TurnInput | EarlierTurnInput, done: TurnSummary): Promise<void> {
  const signals = countSignals();
  const facts = 'turnId' in input ? await begin(input) : input;
  if (facts === null) return;
  const { id: turnId, maxSteps, mcpServers, searchable = false, step: firstStep = 1, wait: resumed } = facts;
  const activities = turnActivities(facts);

  if (mcpServers > 0 && firstStep === 1) {
    setCurrentDetails(`connecting ${mcpServers} MCP servers`);
    await activities.connect();
  }

  for (let step = firstStep; ; step += 1) {
    const progress = `step ${step} of at most ${maxSteps}`;
    setCurrentDetails(`${progress}: model call`);
    const isResumed = resumed !== undefined && step === firstStep;
    const outcome = isResumed ? { kind: 'tools' as const, ...resumed } : await activities.model(step);
    done.steps = step;
    if (outcome.kind === 'ended') {
      Object.assign(done, { state: outcome.state ?? null, stop_reason: outcome.stopReason ?? null });
      break;
    }
    if (outcome.kind === 'tools') {
      const { tools, waiting = [] } = outcome;
      const call = (indices: number[]): Promise<void> => {
        setCurrentDetails(`${progress}: ${formatToolNames(indices.map((index) => tools[index]!))}`);
        return activities.tools(step, tools, indices);
      };
      const free = [...tools.keys()].filter((index) => !waiting.includes(index));
      if (!isResumed && free.length > 0) await call(free);
      if (waiting.length > 0) {
        const result = await waitForAnswers({
          signals,
          advance: async () => {
            const advanced = await advanceWait({ turnId, step });
            if (advanced !== null) activities.setRemaining(advanced.remainingMs);
            return advanced;
          },
          call,
          describe: (open) =>
            `${progress}: waits for answers to ${formatToolNames(open.map((index) => tools[index]!))}`,
          searchable,
          mayContinue: resumed === undefined,
        });
        if (result === 'ended') return;
        if (result === 'long') await continueTurn({ ...facts, ...activities.left(), step, wait: { tools, waiting } });
      }
    }
    const { continueAsNewSuggested, targetWorkerDeploymentVersionChanged: isReplaced } = workflowInfo();
    if (resumed !== undefined || continueAsNewSuggested || isReplaced) {
      await continueTurn({ ...facts, ...activities.left(), step: step + 1, wait: undefined });
    }
  }
  setCurrentDetails(done.state ?? 'completed');
}

/** Loads the facts of a turn whose workflow an earlier build started; null if the turn has ended. */
async function begin({ turnId, ...continuation }: EarlierTurnInput): Promise<TurnInput | null> {
  setCurrentDetails('waiting for a worker slot to begin');
  const begun = await beginTurn({ turnId });
  return begun && { id: turnId, ...begun, ...continuation };
}

/** Goes on in a new run: on the current build, if it has replaced this one, or if this run waited long or begins to. */
function continueTurn(input: TurnInput): Promise<never> {
  const { memo = {}, targetWorkerDeploymentVersionChanged: isReplaced } = workflowInfo();
  const wasLongWait = memo[LONG_WAIT] === true;
  const isLongWait = input.wait !== undefined;
  return makeContinueAsNewFunc<typeof turn>({
    ...((wasLongWait || isLongWait) && { memo: { ...memo, [LONG_WAIT]: isLongWait } }),
    ...((wasLongWait || isLongWait || isReplaced) && { initialVersioningBehavior: 'AUTO_UPGRADE' }),
  })(input);
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
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === TURN_ENDED ? cause : null;
}

/**
 * Returns how the turn ends after a failure. The cancellation scope decides, not the error: if the worker died, the error
 * is a timeout even though the user cancelled.
 */
function outcomeOf(error: TemporalFailure): UnsuccessfulOutcome {
  if (CancellationScope.current().consideredCancelled) return { kind: 'cancelled' };
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return { kind: 'failed', type: 'turn_timeout' };
  const known: readonly TurnFailureType[] = [
    'model_error',
    'model_overloaded',
    'model_rate_limited',
    'context_too_long',
    'turn_timeout',
  ];
  const type = cause instanceof ApplicationFailure ? known.find((name) => name === cause.type) : undefined;
  return { kind: 'failed', type: type ?? 'internal_error' };
}

function formatToolNames(tools: string[]): string {
  const more = tools.length - SHOWN_TOOLS;
  return `tools ${tools.slice(0, SHOWN_TOOLS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
