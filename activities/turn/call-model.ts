import { withinSlot } from '../slots.js';
import { RequestOutdatedError } from '../../src/models/request.js';
import type { RetryNotice } from '../../src/events/stream-schema.js';
import { loadContext, loadProjectId } from '../../src/steps/context.js';
import { beginModelCall, type ModelCall, type AttemptId } from '../../src/steps/model-call.js';
import { storeStep, type StepOutcome } from '../../src/steps/model-step.js';
import { OvertakenError } from '../../src/turns/errors.js';
import type { ActivityDeps } from '../deps.js';
import { approvalOf, askedToolsOf } from '../tools/turn-tools.js';
import { definitionLimits } from './definition-limits.js';
import { callOnce, isTooLong } from '../model/call-once.js';
import { withMemoryOf } from '../model/send.js';
import { withUsableIds } from '../prompt/tool-use-ids.js';
import { withinBudget } from './budget.js';
import { withFallback } from './fall-back.js';
import { prepareCall, withOfferedNames, type PreparedCall, type StepInput } from './prepare-call.js';
import { readOutput } from './read-output.js';
import { storeWithRetries } from '../../src/steps/store-with-retries.js';
import { endTurnAfterLostWorkers, runActivity } from './run-activity.js';
import type { TurnActivities } from './turn-activities.js';

/** Factors applied to our token estimate: the next one each time the API still rejects the request as too long. */
const UNDERCOUNTS = [1, 1.5, 2.25];

/**
 * One step of a turn: calls the model, streams its answer, stores the outcome. A retry after the commit returns the stored outcome.
 */
export function callModel(deps: ActivityDeps): TurnActivities['callModel'] {
  return (input) =>
    runActivity(deps, { turn_id: input.turnId, step: input.step }, async (signal, { id, lostWorkers }) => {
      endTurnAfterLostWorkers(lostWorkers);
      const projectOf = (): Promise<string> => loadProjectId(deps.db, input.turnId);
      const withModel = (isAgain: boolean): Promise<StepOutcome> => {
        // Another model may have a smaller context.
        const step = isAgain ? { ...input, compacted: false } : input;
        return withinSlot(deps.slots, projectOf, signal, () => takeStep(deps, step, id, signal));
      };
      return withinBudget(deps, input, () => withFallback(deps, input.turnId, withModel));
    });
}

/** One step with one model. If the API finds the request too long, it is built again, shorter. */
async function takeStep(
  deps: ActivityDeps,
  input: Omit<StepInput, 'undercount'>,
  attempt: AttemptId,
  signal: AbortSignal,
): Promise<StepOutcome> {
  let refused: TooLong | null = null;
  for (const undercount of UNDERCOUNTS) {
    const outcome: StepOutcome | TooLong = await callWith(deps, { ...input, undercount }, refused, attempt, signal);
    if (outcome.kind !== 'too_long') return outcome;
    refused = outcome;
  }
  throw refused!.error;
}

/** The API found a request of this estimated length too long. */
interface TooLong {
  kind: 'too_long';
  estimated: number;
  error: unknown;
}

/** Builds the request and sends it; both again if what it is built of has changed meanwhile. */
async function callWith(
  deps: ActivityDeps,
  input: StepInput,
  refused: TooLong | null,
  attempt: AttemptId,
  signal: AbortSignal,
): Promise<StepOutcome | TooLong> {
  for (;;) {
    const prepared = await prepareCall(deps, input, signal);
    if (prepared.kind !== 'call') return prepared;
    // It is no shorter than the request that the API has refused.
    if (refused !== null && prepared.estimated >= refused.estimated) return refused;
    try {
      const call = await beginCall(deps, input, prepared, attempt);
      return withOfferedNames(prepared, await callAndStore(deps, prepared, call, signal));
    } catch (error) {
      if (error instanceof RequestOutdatedError) continue;
      if (!isTooLong(error)) throw error;
      return { kind: 'too_long', estimated: prepared.estimated, error };
    }
  }
}

/** Not a part of `callWith`, which lasts as long as the model answers: nothing of the conversation stays in its memory. */
async function beginCall(
  deps: ActivityDeps,
  { turnId, step }: Pick<StepInput, 'turnId' | 'step'>,
  prepared: PreparedCall,
  attempt: AttemptId,
): Promise<ModelCall> {
  await prepared.model.authorize();
  const { model, steering, reserve } = prepared;
  const call = await beginModelCall(deps, turnId, step, attempt, model.called, steering, reserve);
  const { conversation, bytes } = prepared.loaded!;
  deps.conversations.keep(call, conversation.turns, bytes);
  prepared.loaded = null;
  return call;
}

async function callAndStore(
  deps: ActivityDeps,
  prepared: PreparedCall,
  call: ModelCall,
  cancelled: AbortSignal,
): Promise<StepOutcome> {
  const { deltas, config } = deps;
  const stopped = new AbortController();
  const ofCall = deltas.open(call, () => stopped.abort(new OvertakenError(call.turnId)));
  const observer = {
    retrySeconds: prepared.retrySeconds,
    text: (content: string) => deltas.write(ofCall, 'agent.message.delta', content),
    thinking: (content: string) => {
      if (prepared.showsThinking) deltas.write(ofCall, 'agent.thinking.delta', content);
    },
    retry: (notice: RetryNotice) => deltas.write(ofCall, 'agent.retry.delta', JSON.stringify(notice)),
    flush: () => deltas.flush(),
  };
  const signal = AbortSignal.any([cancelled, stopped.signal]);
  const answer = await withMemoryOf(prepared.projectId, () =>
    callOnce(deps, prepared.model, prepared.request, call, observer, signal),
  );
  const content = withUsableIds(answer.content, prepared.toolUseIds);
  const output = await readOutput(deps.schemaChecks, prepared, { ...answer, content });
  return storeWithRetries(async () => {
    const unstored = await deltas.takeUnstored(ofCall);
    try {
      stopped.signal.throwIfAborted();
      return await storeStep(deps, {
        call,
        deltas: unstored,
        answer: { ...answer, content },
        callOf: prepared.callOf,
        showsThinking: prepared.showsThinking,
        approvalOf: (toolCall) => approvalOf(prepared.permissions, prepared.hasTools, toolCall),
        askedTools: async (calls) => {
          const turn = await loadContext(deps.db, call.turnId);
          return askedToolsOf(deps.toolSources, turn, calls, definitionLimits(deps, turn));
        },
        isLast: call.step >= config.maxSteps,
        output,
      });
    } catch (error) {
      deltas.putBack(ofCall, unstored);
      throw error;
    }
  }, cancelled);
}
