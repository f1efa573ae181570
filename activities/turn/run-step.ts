import type { RetryNotice } from '../../src/events/stream-schema.js';
import { beginModelCall, type ModelCall } from '../../src/steps/model-call.js';
import { SteeringChangedError } from '../../src/steps/steering.js';
import { storeStep, type StepOutcome } from '../../src/steps/model-step.js';
import type { WrittenDeltas } from '../../src/stream/delta-writer.js';
import { OvertakenError } from '../../src/turns/errors.js';
import type { ActivityTask } from '../../src/steps/activity-task.js';
import type { ActivityDeps } from '../deps.js';
import { callOnce, isTooLong } from '../model/call-once.js';
import { sendFor } from '../model/send.js';
import { withUsableIds } from '../prompt/tool-use-ids.js';
import { prepareCall, type PreparedCall, type StepInput } from './prepare-call.js';
import { readOutput } from './read-output.js';
import { storeWithRetries } from './run-activity.js';
import type { CallOutcome, StepResult } from './turn-activities.js';

/** Name reported to Temporal for a tool the turn does not offer. */
const UNKNOWN_TOOL = '(unknown)';
/** Factor applied to our token estimate each time the API still rejects the request as too long, and its limit. */
const UNDERCOUNT_STEP = 1.5;
const MAX_UNDERCOUNT = 3;

/**
 * One step of a turn: calls the model, streams its answer, stores the outcome. If the step is stored already, returns its
 * outcome.
 */
export async function runStep(
  deps: ActivityDeps,
  input: Omit<StepInput, 'undercount'>,
  signal: AbortSignal,
  task: ActivityTask,
): Promise<StepResult> {
  const { turnId, step } = input;
  let refused: { estimated: number; error: unknown } | null = null;
  for (let undercount = 1; ; undercount *= UNDERCOUNT_STEP) {
    if (refused !== null && undercount > MAX_UNDERCOUNT) throw refused.error;
    const prepared = await prepareCall(deps, { ...input, undercount }, signal);
    if (prepared === 'compact') return { kind: 'compact' };
    if ('kind' in prepared) return prepared;
    if ('stored' in prepared) return withOfferedNames(prepared, prepared.stored);
    if (refused !== null && prepared.estimated >= refused.estimated) continue;
    try {
      await prepared.model.authorize();
      const call = await beginModelCall(deps, turnId, step, task, prepared.model.called, prepared.steering);
      const { conversation, bytes } = prepared.loaded!;
      deps.conversations.keep(call, conversation.turns, bytes);
      prepared.loaded = null;
      return withOfferedNames(prepared, await callAndStore(deps, prepared, call, signal));
    } catch (error) {
      // The request lacks a message, or has one that was withdrawn: it is built again.
      if (error instanceof SteeringChangedError) {
        undercount /= UNDERCOUNT_STEP;
        continue;
      }
      if (!isTooLong(error)) throw error;
      refused = { estimated: prepared.estimated, error };
    }
  }
}

/** Replaces the names of tools that the turn does not offer. The model invented them, so they may contain its text. */
function withOfferedNames(
  { permissions, mayAsk }: Pick<PreparedCall, 'permissions' | 'mayAsk'>,
  outcome: StepOutcome,
): CallOutcome {
  if (outcome.kind !== 'tools') return outcome;
  const tools = outcome.tools.map((name) => (permissions.has(name) ? name : UNKNOWN_TOOL));
  return { ...outcome, tools, ...(mayAsk && { mayAsk }) };
}

async function callAndStore(
  deps: ActivityDeps,
  prepared: PreparedCall,
  call: ModelCall,
  cancelled: AbortSignal,
): Promise<StepOutcome> {
  const { deltas, config } = deps;
  const fenced = new AbortController();
  const writer = deltas.open(call, () => fenced.abort(new OvertakenError(call.turnId)));
  const observer = {
    retrySeconds: prepared.retrySeconds,
    text: (content: string) => writer.write('agent.message.delta', content),
    thinking: (content: string) => writer.write('agent.thinking.delta', content),
    retry: (notice: RetryNotice) => writer.write('agent.retry.delta', JSON.stringify(notice)),
    settle: () => writer.flush(),
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
  const store = async (rest: WrittenDeltas | null): Promise<StepOutcome> => {
    fenced.signal.throwIfAborted();
    return storeStep(deps, {
      call,
      deltas: writer.count,
      rest,
      answer: { ...answer, content },
      callOf: prepared.callOf,
      permissionOf: (name) => (prepared.hasTools ? (prepared.permissions.get(name) ?? 'allow') : null),
      isLast: call.step >= config.maxSteps,
      output,
    });
  };
  return storeWithRetries(() => writer.storeWithRest(store), cancelled);
}
