import type { ModelRequest } from '../../src/models/request.js';
import { beginModelCall, type ModelCall } from '../../src/steps/model-call.js';
import { storedOutcome, storeStep, type StepOutcome } from '../../src/steps/model-step.js';
import type { TurnContext } from '../../src/steps/context.js';
import { loadConversation } from '../../src/steps/conversation.js';
import { isOpen } from '../../src/turns/states.js';
import { OvertakenError, TurnEndedError } from '../../src/turns/turn.js';
import type { ActivityDeps } from '../deps.js';
import { callOnce, isTooLong } from '../model/call-once.js';
import type { ModelClient } from '../model/clients.js';
import { countTokens } from '../model/count-tokens.js';
import { buildRequest, type BuiltRequest } from '../prompt/build-request.js';
import { withUsableIds } from '../prompt/tool-use-ids.js';
import { findTool, offeredTools, permissionOf, type OfferedTool } from '../tools/offered-tools.js';
import { runActivity } from './run-activity.js';
import { storeOutcome } from './store-outcome.js';
import type { ModelCallOutcome, TurnActivities } from './turn-activities.js';

/** Name reported to Temporal for a tool the turn does not offer. */
const UNKNOWN_TOOL = '(unknown)';
/** Factor applied to our token estimate each time the API still rejects the request as too long, and its limit. */
const UNDERCOUNT_STEP = 1.5;
const MAX_UNDERCOUNT = 3;

/**
 * One step of a turn: calls the model, streams its answer, stores the outcome. A retry after the commit returns the
 * stored outcome.
 */
export function callModel(deps: ActivityDeps): TurnActivities['callModel'] {
  return ({ turnId, step, compacted }) =>
    runActivity(deps, { turn_id: turnId, step }, async (signal): Promise<ModelCallOutcome> => {
      let loaded = await loadConversation(deps.db, turnId);
      const { turn } = loaded;
      const offered = offeredTools(turn);
      const isStored = loaded.conversation.turns.at(-1)!.steps.some((one) => one.step === step);
      const stored = isStored ? await storedOutcome(deps.db, turnId, step) : null;
      if (stored !== null) return withOfferedNames(offered, stored);
      if (!isOpen(turn.state)) throw new TurnEndedError(turnId, turn.state);
      const model = deps.models.getOrFail(turn.modelId);
      const options = {
        entry: model.entry,
        tools: offered.map(({ tool }) => tool),
        countTokens: (request: ModelRequest) => countTokens(model, request, signal),
        compacted,
      };
      let refused: { estimated: number; error: unknown } | null = null;
      for (let undercount = 1; ; undercount *= UNDERCOUNT_STEP) {
        if (refused !== null && undercount > MAX_UNDERCOUNT) throw refused.error;
        const built = await buildRequest(deps, loaded, { ...options, undercount }, signal);
        if (built === 'compact') return { kind: 'compact' };
        if (refused !== null && built.estimated >= refused.estimated) continue;
        try {
          await model.authorize();
          const call = await beginModelCall(deps, turnId, step);
          return withOfferedNames(offered, await callAndStore(deps, { turn, offered, model }, built, call, signal));
        } catch (error) {
          if (!isTooLong(error)) throw error;
          refused = { estimated: built.estimated, error };
          loaded = await loadConversation(deps.db, turnId);
        }
      }
    });
}

/** True for a tool the turn does not offer. The model invented its name, so the name may contain text of its answer. */
function withOfferedNames(offered: OfferedTool[], outcome: StepOutcome): StepOutcome {
  if (outcome.kind !== 'tools') return outcome;
  return {
    ...outcome,
    tools: outcome.tools.map((name) => (findTool(offered, name) === undefined ? UNKNOWN_TOOL : name)),
  };
}

async function callAndStore(
  deps: ActivityDeps,
  { turn, offered, model }: { turn: TurnContext; offered: OfferedTool[]; model: ModelClient },
  { request, fullName }: BuiltRequest,
  call: ModelCall,
  cancelled: AbortSignal,
): Promise<StepOutcome> {
  const { deltas, config } = deps;
  const fenced = new AbortController();
  const writer = deltas.open(call, () => fenced.abort(new OvertakenError(call.turnId)));
  const observer = {
    text: (content: string) => writer.write('agent.message.delta', content),
    thinking: (content: string) => writer.write('agent.thinking.delta', content),
    settle: () => writer.flush(),
  };
  const signal = AbortSignal.any([cancelled, fenced.signal]);
  const answer = await callOnce(deps, model, request, call, observer, signal);
  const content = withUsableIds(answer.content, request.messages);
  const store = async (): Promise<StepOutcome> => {
    await writer.flush();
    fenced.signal.throwIfAborted();
    return storeStep(deps, {
      call,
      deltas: writer.count,
      answer: { ...answer, content },
      toolName: (alias) => fullName(alias) ?? alias,
      permissionOf: (name) => permissionOf(turn, offered, name),
      isLast: call.step >= config.maxSteps,
    });
  };
  return storeOutcome(store, cancelled);
}
