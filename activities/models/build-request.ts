import { ApplicationFailure } from '@temporalio/common';
import type { ActivityDeps } from '../deps.js';
import { offeredTools, type OfferedTools } from '../tools/offered.js';
import { attachmentBlocks } from '../tools/attachment-blocks.js';
import type { TurnContext } from '../turn-context.js';
import type { ModelClient } from './clients.js';
import { fitOf } from './compaction.js';
import { loadConversation, toMessages } from './conversation.js';
import { toRequest, type ModelRequest } from './request.js';
import { resultBlocks } from './result-blocks.js';

export interface BuiltRequest {
  model: ModelClient;
  tools: OfferedTools;
  request: ModelRequest;
}

/**
 * Builds the request of a turn's next step; `compact` when older turns must be summarised first.
 * @throws ApplicationFailure `context_too_long` when the turn alone does not fit
 */
export async function buildRequest(
  deps: ActivityDeps,
  turn: TurnContext,
  compacted: boolean,
  signal: AbortSignal,
): Promise<BuiltRequest | 'compact'> {
  const model = modelOf(deps, turn.modelId);
  const tools = offeredTools(turn);
  const conversation = await loadConversation(deps.db, turn);
  const messages = await toMessages(conversation, {
    attachments: await resultBlocks(deps.storage, await attachmentBlocks(deps.db, deps.storage, turn)),
    resultBlocks: (blocks) => resultBlocks(deps.storage, blocks),
    toolAlias: (name) => tools.aliases.toModel(name),
  });
  const request = toRequest(model.entry, turn, tools, messages);
  const fit = await fitOf(model, request, signal);
  if (fit !== 'fits' && !compacted && conversation.turns.length > 1) return 'compact';
  if (fit === 'too long') {
    throw ApplicationFailure.nonRetryable('The turn does not fit into the context of its model.', 'context_too_long');
  }
  return { model, tools, request };
}

/** @throws ApplicationFailure `model_error` when the catalogue has lost the session's model */
export function modelOf(deps: ActivityDeps, modelId: string): ModelClient {
  const model = deps.models.get(modelId);
  if (model === undefined)
    throw ApplicationFailure.nonRetryable('The catalogue has no such model any more.', 'model_error');
  return model;
}
