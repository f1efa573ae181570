import { ApplicationFailure } from '@temporalio/common';
import type { ModelEntry } from '../../src/models/entry.js';
import type { ModelRequest, ToolDefinition } from '../../src/models/request.js';
import type { CallOf } from '../../src/steps/step-calls.js';
import { loadConversation, type RequestContext } from '../../src/steps/conversation.js';
import type { PastTurn } from '../../src/steps/past-turn.js';
import { loadMediaRefusals } from '../../src/steps/refused-media.js';
import { attachedFiles } from '../../src/steps/session-files.js';
import { UPLOADS } from '../../src/workspaces/layout.js';
import { uploadNames } from '../../src/workspaces/uploads.js';
import { attachmentBlocks } from './attachment-blocks.js';
import { isWorthCompacting } from './compaction.js';
import { loadMedia, mayHaveMedia } from './media.js';
import { toMessages } from './messages.js';
import { MIN_ANSWER, toRequest, withAnswerRoom } from './request.js';
import { shortenNewestStep, shortenOlderSteps, type PromptDeps } from './shorten-steps.js';
import { estimate, estimateRequest, requestTokens, type CountTokens } from './tokens.js';
import type { Aliases } from '../../src/models/aliases.js';
import { parameterAliases } from './parameter-aliases.js';

/** If a request fills more of the window than this, it is shortened first. The rest is for further steps and answers. */
const FULL_SHARE = 0.7;
/** Shortened to this share, so that the next steps do not need shortening again. */
const TARGET_SHARE = 0.5;
/** The newest step is cut only above this share, because the model has not read it yet. */
const TIGHT_SHARE = 0.85;

export interface BuiltRequest {
  kind: 'request';
  request: ModelRequest;
  /** Our estimate of its input tokens. */
  estimated: number;
  /** Its input tokens as they count: by the model's API if it was asked. */
  tokens: number;
  /** How often the API has refused its media in this turn. */
  mediaRefusals: number;
  /** Returns a call with the full names instead of the request's aliases. A name that the model invented stays. */
  callOf: CallOf;
  /** Ids of the messages in it that still wait to be given to the turn. */
  steering: string[];
  /** What it was built from. */
  loaded: Pick<RequestContext, 'conversation' | 'bytes'>;
}

export interface BuildOptions {
  entry: ModelEntry;
  /** The tools that the turn offers. */
  offered: readonly ToolDefinition[];
  /** The names of all of them, also of those whose definitions the model has to find. */
  aliases: Aliases;
  /** Those whose definitions the model gets, in order. */
  tools: readonly ToolDefinition[];
  countTokens: CountTokens;
  /** Earlier turns have been summarised for this step already. */
  compacted: boolean;
  /** Factor by which the API's count exceeds our estimate. */
  undercount: number;
  room: AnswerRoom;
}

/** The most tokens that the answer to so many input tokens may have. */
export interface AnswerRoom {
  /** Null if the call must not be made. */
  find(inputTokens: number): number | null;
  /** Throws if the call must not be made. */
  require(inputTokens: number): number;
}

/** `compact`: earlier turns must be summarised first. */
export type BuildResult = BuiltRequest | { kind: 'compact' };

/**
 * Builds the request of a turn's next step. If the turn itself fills the window, its older steps are shortened.
 * @throws ApplicationFailure `context_too_long` if the request does not fit even after shortening, or what `room` throws
 */
export async function buildRequest(
  deps: PromptDeps,
  loaded: RequestContext,
  { entry, offered, aliases, tools, countTokens, compacted, undercount, room }: BuildOptions,
  signal: AbortSignal,
): Promise<BuildResult> {
  const { turn } = loaded;
  let { conversation, bytes } = loaded;
  const refusals = mayHaveMedia(conversation, turn.files) ? await loadMediaRefusals(deps.db, turn) : null;
  const attached = await attachmentBlocks(deps.db, deps.storage, turn, refusals);
  const uploadPath = turn.workspace === null ? null : await uploadPaths(deps, loaded);
  // An estimate that is wrong by half still leaves the whole output.
  const isTight = (tokens: number): boolean => (room.find(2 * tokens) ?? 0) < entry.max_output_tokens;
  for (;;) {
    signal.throwIfAborted();
    const media = await loadMedia(deps.storage, conversation, attached, refusals);
    const messages = toMessages(conversation, {
      attachments: media.attachments,
      attachmentsOf: turn.messageNumber,
      uploadPath,
      media: media.of,
      toolAlias: (name) => aliases.toModel(name),
      thinkingOf: entry.supports_thinking ? entry.id : null,
    });
    const request = toRequest(entry, loaded, tools, aliases, messages);
    const estimated = estimateRequest(request);
    const tokens = Math.ceil((await requestTokens(entry, request, estimated, { countTokens, isTight })) * undercount);
    const share = tokens / entry.context_window;
    if (share > FULL_SHARE) {
      if (!compacted && isWorthCompacting(conversation, entry.context_window)) return { kind: 'compact' };
      if (await makeRoom(deps, conversation.turns.at(-1)!, tokens, entry.context_window)) {
        ({ conversation, bytes } = await loadConversation(deps.db, turn.id));
        continue;
      }
    }
    if (tokens + Math.min(MIN_ANSWER, entry.max_output_tokens) > entry.context_window) {
      throw ApplicationFailure.nonRetryable('The turn does not fit into the context of its model.', 'context_too_long');
    }
    const limit = room.require(tokens);
    const { steering } = conversation.turns.at(-1)!;
    return {
      kind: 'request',
      request: withAnswerRoom(entry, request, tokens, limit),
      estimated,
      tokens,
      mediaRefusals: refusals?.ofTurn ?? 0,
      callOf: callsOf(offered, aliases),
      steering: steering.filter(({ step }) => step === null).map(({ id }) => id),
      loaded: { conversation, bytes },
    };
  }
}

/** Keeps no schema: the function stays in memory while the model answers. */
function callsOf(offered: readonly ToolDefinition[], aliases: Aliases): CallOf {
  const inputs = new Map(offered.map(({ name, inputSchema }) => [name, parameterAliases(inputSchema).toTool]));
  return ({ name: alias, input }) => {
    const name = aliases.toFull(alias) ?? alias;
    return { name, input: inputs.get(name)?.(input) ?? input };
  };
}

/** The paths of the session's attachments, those of messages included that this request delivers. */
async function uploadPaths(
  { db }: PromptDeps,
  { turn, conversation }: RequestContext,
): Promise<(fileId: string) => string | undefined> {
  const attached = await attachedFiles(db, turn);
  const delivered = conversation.turns.at(-1)!.steering.flatMap(({ files }) => files);
  const names = uploadNames([...attached, ...delivered]);
  return (id) => (names.has(id) ? `${UPLOADS}/${names.get(id)}` : undefined);
}

/** Shortens the running turn. Returns false if nothing is left to shorten. */
async function makeRoom(deps: PromptDeps, turn: PastTurn, tokens: number, window: number): Promise<boolean> {
  if (await shortenOlderSteps(deps, turn, tokens - window * TARGET_SHARE)) return true;
  if (tokens < window * TIGHT_SHARE) return false;
  const newest = newestTokens(turn);
  return shortenNewestStep(deps, turn, Math.max(0, window * FULL_SHARE - (tokens - newest)));
}

function newestTokens(turn: PastTurn): number {
  const newest = turn.steps.at(-1);
  return newest === undefined ? 0 : estimate(newest.calls.map((call) => call.content));
}
