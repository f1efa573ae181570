import { mediaOf } from '../../src/models/media.js';
import { PendingRequest, type ModelRequest } from '../../src/models/request.js';
import { loadConversation, type RequestContext } from '../../src/steps/conversation.js';
import type { Steering } from '../../src/steps/model-call.js';
import { findStepOutcome, type StepOutcome } from '../../src/steps/model-step.js';
import type { CallOf } from '../../src/steps/step-calls.js';
import { isOpen } from '../../src/db/turn-states.js';
import { serversMayAsk } from '../../src/sessions/tools.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import type { ActivityDeps } from '../deps.js';
import { countTokens, type ModelClient } from '../model/clients.js';
import { withMemoryOf } from '../model/send.js';
import { buildRequest, type BuildOptions } from '../prompt/build-request.js';
import { toolUseIds } from '../prompt/tool-use-ids.js';
import { retrySecondsOf } from './fall-back.js';
import type { Reserve } from '../../src/sessions/budget.js';
import { CallBudget } from './budget.js';
import { outputPlanOf, type OutputPlan } from './read-output.js';
import { definitionBytes, maxDefinitionBytes, type DefinitionLimits } from '../tools/definition-bytes.js';
import { definitionsOf, offerTools, permissionsOf, serialToolsOf, type Permissions } from '../tools/turn-tools.js';
import type { TurnTool } from '../tools/tool-source.js';
import { definitionLimits } from './definition-limits.js';
import { toolAliases } from '../../src/models/aliases.js';
import type { TurnContext } from '../../src/steps/context.js';
import { foundTools, loadFound } from '../../src/steps/found-tools.js';

/** Name reported to Temporal for a tool the turn does not offer. */
const UNKNOWN_TOOL = '(unknown)';

export interface StepInput {
  turnId: string;
  /** Finds the conversation that this process knows. */
  sessionId: string;
  step: number;
  /** Earlier turns have been summarised for this step already. */
  compacted: boolean;
  /** Factor by which the API's count exceeds our estimate. */
  undercount: number;
}

/**
 * The next model call of a turn, with what storing its answer needs. Nothing else of the turn stays in memory while
 * the model answers, but what the cache of conversations has room for: schemas and messages may take megabytes.
 * So none of its functions is made in `prepareCall`: such a function keeps all that the functions made there use.
 */
export interface PreparedCall {
  kind: 'call';
  projectId: string;
  model: ModelClient;
  /** The session has thinking. */
  showsThinking: boolean;
  /** How long a failed call is tried again. */
  retrySeconds: number;
  request: PendingRequest;
  /** What the call may cost; null in a session without a budget. */
  reserve: Reserve | null;
  /** Our estimate of the request's input tokens. */
  estimated: number;
  /** Full names of the offered tools, each with the answer that its calls need. */
  permissions: Permissions;
  /** False in a session without `tools`: its calls have no permission. */
  hasTools: boolean;
  /** Servers may ask questions while the calls run. */
  mayAsk: boolean;
  /** Tools whose calls of one step run one after another. */
  serialTools: Set<string>;
  /** Returns a call with the full names instead of the request's aliases. */
  callOf: CallOf;
  toolUseIds: Set<string>;
  /** Null in a turn without `output_schema`. */
  output: OutputPlan | null;
  /** The messages of the request that the call takes as it begins. */
  steering: Steering;
  /** For the cache of conversations, which takes it when the call begins. */
  loaded: Pick<RequestContext, 'conversation' | 'bytes'> | null;
}

/**
 * Loads a turn and prepares the model call of its next step. A step that makes no call now has an outcome instead: the stored
 * one if an earlier attempt has finished it, or `compact`.
 * @throws TurnEndedError, ApplicationFailure `context_too_long`, or TooDearError
 */
export async function prepareCall(
  deps: ActivityDeps,
  { turnId, sessionId, step, compacted, undercount }: StepInput,
  signal: AbortSignal,
): Promise<PreparedCall | StepOutcome> {
  const loaded = await loadConversation(deps.db, turnId, deps.conversations.find(sessionId));
  const { turn } = loaded;
  const limits = definitionLimits(deps, turn);
  const tools = offerTools(deps.toolSources, loaded, limits);
  const offer: Offer = {
    permissions: permissionsOf(tools),
    mayAsk: serversMayAsk(turn.toolsets),
    serialTools: serialToolsOf(tools),
  };

  const isStored = loaded.conversation.turns.at(-1)!.steps.some((one) => one.step === step);
  const stored = isStored ? await findStepOutcome(deps.db, turnId, step) : null;
  if (stored !== null) return withOfferedNames(offer, stored);
  if (!isOpen(turn.state)) throw new TurnEndedError(turnId, turn.state);

  const model = deps.models.getOrFail(turn.modelId);
  const budget = new CallBudget(turn, model);
  const options = {
    entry: model.entry,
    ...(await toolOptions(deps, turn, tools, limits)),
    countTokens: (request: ModelRequest) => countTokens(model, request, signal),
    compacted,
    undercount,
    room: budget,
  };
  const built = await withMemoryOf(turn.projectId, () => buildRequest(deps, loaded, options, signal));
  if (built.kind === 'compact') return built;
  return {
    kind: 'call',
    projectId: turn.projectId,
    model,
    showsThinking: turn.thinkingEnabled,
    retrySeconds: retrySecondsOf(deps, turn),
    request: new PendingRequest(built.request, built.tokens, mediaOf(built.request.messages), built.mediaRefusals),
    reserve: budget.reserve({ inputTokens: built.tokens, maxTokens: built.request.max_tokens }),
    estimated: built.estimated,
    ...offer,
    hasTools: turn.hasTools,
    callOf: built.callOf,
    toolUseIds: toolUseIds(built.request.messages),
    output: outputPlanOf(loaded),
    steering: { mayWait: turn.hasWaiting, ids: built.steering },
    loaded: built.loaded,
  };
}

/** What the turn offers, for the outcome of its calls. */
type Offer = Pick<PreparedCall, 'permissions' | 'mayAsk' | 'serialTools'>;

/** Replaces the names of tools that the turn does not offer. The model invented them, so they may contain its text. */
export function withOfferedNames({ permissions, mayAsk, serialTools }: Offer, outcome: StepOutcome): StepOutcome {
  if (outcome.kind !== 'tools') return outcome;
  const tools = outcome.tools.map((name) => (permissions.has(name) ? name : UNKNOWN_TOOL));
  const serial = [...tools.keys()].filter((index) => serialTools.has(tools[index]!));
  return { ...outcome, tools, ...(mayAsk && { mayAsk }), ...(serial.length > 0 && { serial }) };
}

/** What a request needs to know of the turn's tools. */
async function toolOptions(
  { db }: Pick<ActivityDeps, 'db'>,
  turn: TurnContext,
  tools: readonly TurnTool[],
  limits: DefinitionLimits,
): Promise<Pick<BuildOptions, 'offered' | 'aliases' | 'tools'>> {
  const offered = tools.map(({ definition }) => definition);
  const aliases = toolAliases(offered.map(({ name }) => name));
  const deferred = new Map(
    tools.filter(({ shown }) => shown === 'found').map(({ definition }) => [definition.name, definition]),
  );
  if (deferred.size === 0) return { offered, aliases, tools: definitionsOf(tools, []) };
  const bytesOf = (name: string): number | undefined => {
    const definition = deferred.get(name);
    return definition && definitionBytes(definition);
  };
  const rules = { bytesOf, toFull: aliases.toFull, maxBytes: maxDefinitionBytes(limits), turn: turn.number };
  return { offered, aliases, tools: definitionsOf(tools, foundTools(await loadFound(db, turn), rules)) };
}
