import type { RetryNotice } from '../../src/events/stream-schema.js';
import { loadProjectId } from '../../src/steps/context.js';
import { beginModelCall, type ModelCall, type ActivityTask } from '../../src/steps/model-call.js';
import { SteeringChangedError } from '../../src/steps/steering.js';
import { storeStep, type StepOutcome } from '../../src/steps/model-step.js';
import { OvertakenError } from '../../src/turns/errors.js';
import type { ActivityDeps } from '../deps.js';
import { callOnce, isTooLong } from '../model/call-once.js';
import { sendFor } from '../model/send.js';
import { withUsableIds } from '../prompt/tool-use-ids.js';
import { reachBudget } from './budget.js';
import { withFallback } from './fall-back.js';
import { prepareCall, withOfferedNames, type PreparedCall, type StepInput } from './prepare-call.js';
import { readOutput } from './read-output.js';
import { endTurnAfterLostWorkers, runActivity, storeWithRetries } from './run-activity.js';
import type { ModelCallOutcome, StepResult, TurnActivities } from './turn-activities.js';

/** Factors applied to our token estimate: the next one each time the API still rejects the request as too long. */
const UNDERCOUNTS = [1, 1.5, 2.25];

/** The API has rejected a request as too long. */
interface TooLong {
  kind: 'too_long';
  estimated: number;
  error: unknown;
}

/**
 * One step of a turn: calls the model, streams its answer, stores the outcome. A retry after the commit returns the stored outcome.
 */
export function callModel(deps: ActivityDeps): TurnActivities['callModel'] {
  return (input) =>
    runActivity(
      deps,
      { turn_id: input.turnId, step: input.step },
      async (signal, { task, lostWorkers }): Promise<ModelCallOutcome> => {
        endTurnAfterLostWorkers(lostWorkers);
        const outcome = await withFallback(deps, input.turnId, async (isAgain) => {
          // Another model may have a smaller context.
          const step = isAgain ? { ...input, compacted: false } : input;
          const projectOf = (): Promise<string> => loadProjectId(deps.db, input.turnId);
          return deps.slots.within(projectOf, signal, () => runStep(deps, step, signal, task));
        });
        if (outcome.kind !== 'budget') return outcome;
        return reachBudget(deps, input, outcome.needed);
      },
    );
}

/** One step with one model. If the API finds the request too long, it is built again, shorter. */
async function runStep(
  deps: ActivityDeps,
  input: Omit<StepInput, 'undercount'>,
  signal: AbortSignal,
  task: ActivityTask,
): Promise<StepResult> {
  let refused: TooLong | null = null;
  for (const undercount of UNDERCOUNTS) {
    const result: StepResult | TooLong = await makeCall(deps, { ...input, undercount }, refused, signal, task);
    if (result.kind !== 'too_long') return result;
    refused = result;
  }
  throw refused!.error;
}

/** Builds the request and sends it, unless it is no shorter than the one that the API has refused. */
async function makeCall(
  deps: ActivityDeps,
  input: StepInput,
  refused: TooLong | null,
  signal: AbortSignal,
  task: ActivityTask,
): Promise<StepResult | TooLong> {
  for (;;) {
    const prepared = await prepareCall(deps, input, signal);
    if (prepared.kind !== 'call') return prepared;
    if (refused !== null && prepared.estimated >= refused.estimated) return refused;
    try {
      const call = await beginCall(deps, input, prepared, task);
      return withOfferedNames(prepared, await callAndStore(deps, prepared, call, signal));
    } catch (error) {
      if (isTooLong(error)) return { kind: 'too_long', estimated: prepared.estimated, error };
      // The request lacks a message, or has one that was withdrawn: it is built again.
      if (!(error instanceof SteeringChangedError)) throw error;
    }
  }
}

async function beginCall(
  deps: ActivityDeps,
  { turnId, step }: StepInput,
  prepared: PreparedCall,
  task: ActivityTask,
): Promise<ModelCall> {
  await prepared.model.authorize();
  const call = await beginModelCall(deps, turnId, step, task, prepared.model.called, prepared.steering);
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
  const fenced = new AbortController();
  const stream = deltas.open(call, () => fenced.abort(new OvertakenError(call.turnId)));
  const observer = {
    retrySeconds: prepared.retrySeconds,
    text: (content: string) => deltas.write(stream, 'agent.message.delta', content),
    thinking: (content: string) => deltas.write(stream, 'agent.thinking.delta', content),
    retry: (notice: RetryNotice) => deltas.write(stream, 'agent.retry.delta', JSON.stringify(notice)),
    flush: () => deltas.flush(),
  };
  const signal = AbortSignal.any([cancelled, fenced.signal]);
  const answer = await sendFor(prepared.projectId, () =>
    callOnce(deps, prepared.model, prepared.request, call, observer, signal),
  );
  const content = withUsableIds(answer.content, prepared.toolUseIds);
  const output =
    prepared.output === null
      ? null
      : await readOutput(
          deps.schemaChecks,
          prepared.projectId,
          prepared.output,
          { ...answer, content },
          prepared.callOf,
        );
  return storeWithRetries(async () => {
    const unstored = await deltas.takeUnstored(stream);
    try {
      fenced.signal.throwIfAborted();
      return await storeStep(deps, {
        call,
        deltas: unstored,
        answer: { ...answer, content },
        callOf: prepared.callOf,
        permissionOf: (name) => (prepared.hasTools ? (prepared.permissions.get(name) ?? 'allow') : null),
        isLast: call.step >= config.maxSteps,
        output,
      });
    } catch (error) {
      deltas.putBack(stream, unstored);
      throw error;
    }
  }, cancelled);
}
