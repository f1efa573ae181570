import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  continueAsNew,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
  TemporalFailure,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { TurnFailureType } from '../src/turns/states.js';
import type { BegunTurn, TurnActivities, UnsuccessfulOutcome } from '../activities/turn/turn-activities.js';
import { TURN_ENDED, type TurnInput } from './contract.js';

const { beginTurn } = proxyLocalActivities<TurnActivities>({
  startToCloseTimeout: '5 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

const { finishTurn } = proxyActivities<TurnActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
  summary: 'end of the turn',
});

/** An activity that ignores its cancellation is left behind after that; what it still writes is fenced out. */
const CANCEL_CAP = '15 s';
/** Tool calls of one step under way at once: a step with hundreds leaves slots to other turns. */
const PARALLEL_TOOLS = 16;
/** Longer pieces of text in `setCurrentDetails` help nobody. */
const SHOWN_TOOLS = 5;

/** One turn: begin → (call model → call tools)* → ended by the last model call. Cancelled or failed → finish. */
export async function turn(input: TurnInput & { step?: number }): Promise<void> {
  const { turnId } = input;
  try {
    await abandonAfterCancel(run(turnId, input.step ?? 1));
  } catch (error) {
    if (!(error instanceof TemporalFailure) || hasEnded(error)) {
      if (error instanceof TemporalFailure) return;
      throw error;
    }
    const ending = outcomeOf(error);
    setCurrentDetails(ending.kind === 'cancelled' ? 'cancelled' : `failed: ${ending.type}`);
    await CancellationScope.nonCancellable(() => finishTurn({ turnId, ending }));
    throw error;
  }
}

async function run(turnId: string, firstStep: number): Promise<void> {
  setCurrentDetails('waiting for a worker slot to begin');
  const begun = await beginTurn({ turnId });
  if (begun === null) return;
  const activities = turnActivities(begun);

  if (begun.mcpServers > 0 && firstStep === 1) {
    setCurrentDetails(`connecting ${begun.mcpServers} MCP servers`);
    await activities.connect(turnId);
  }

  for (let step = firstStep; ; step += 1) {
    setCurrentDetails(`step ${step} of at most ${begun.maxSteps}: model call`);
    const outcome = await activities.model(turnId, step);
    if (outcome.kind === 'ended') break;
    if (outcome.kind === 'tools') {
      setCurrentDetails(`step ${step} of at most ${begun.maxSteps}: ${formatToolNames(outcome.tools)}`);
      await activities.tools(turnId, step, outcome.tools);
    }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof turn>({ turnId, step: step + 1 });
  }
  setCurrentDetails('completed');
}

function turnActivities(begun: BegunTurn) {
  const deadline = Date.now() + begun.remainingMs;
  const activity = (summary: string): TurnActivities => {
    const remainingMs = deadline - Date.now();
    if (remainingMs <= 0) throw ApplicationFailure.nonRetryable('The time of the turn is over.', 'turn_timeout');
    return proxyActivities<TurnActivities>({
      scheduleToCloseTimeout: remainingMs,
      heartbeatTimeout: '10 s',
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' },
      summary,
    });
  };

  return {
    connect: (turnId: string) => activity(`connect ${begun.mcpServers} MCP servers`).connectMcpServers({ turnId }),

    async model(turnId: string, step: number) {
      const call = (compacted: boolean) =>
        activity(`model call ${step} · ${begun.modelId}`).callModel({ turnId, step, compacted });
      const outcome = await call(false);
      if (outcome.kind !== 'compact') return outcome;
      await activity(`compact the context before model call ${step}`).compactContext({ turnId, step });
      return call(true);
    },

    async tools(turnId: string, step: number, tools: string[]) {
      for (let start = 0; start < tools.length; start += PARALLEL_TOOLS) {
        await Promise.all(
          tools
            .slice(start, start + PARALLEL_TOOLS)
            .map((name, offset) => activity(`tool ${name}`).callTool({ turnId, step, index: start + offset })),
        );
      }
    },
  };
}

/** Waits for the work; after a cancel no longer than the cap. */
function abandonAfterCancel(work: Promise<void>): Promise<void> {
  const overdue = CancellationScope.current().cancelRequested.catch(async (cancelled: unknown) => {
    await CancellationScope.nonCancellable(() => sleep(CANCEL_CAP));
    throw cancelled;
  });
  return Promise.race([work, overdue]);
}

/** True when the turn was ended by somebody else (the sweep): there is nothing left to finish. */
function hasEnded(error: TemporalFailure): boolean {
  return (
    error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.type === TURN_ENDED
  );
}

/**
 * How the turn ends after a failure. Decided by the scope, not by the error: after a dead worker the error is a
 * timeout though the user cancelled.
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
