import { ApplicationFailure } from '@temporalio/common';
import type { ActivityDeps } from '../deps.js';
import { offeredTools, type OfferedTools } from '../tools/offered.js';
import type { TurnContext } from '../turn-context.js';
import type { ModelClient } from './clients.js';
import { loadConversation, toMessages } from './conversation.js';
import { resultBlocks } from './result-blocks.js';
import { toRequest, type ModelRequest } from './request.js';

export interface BuiltRequest {
  model: ModelClient;
  tools: OfferedTools;
  request: ModelRequest;
}

/** Builds the request of a turn's next step. */
export async function buildRequest(deps: ActivityDeps, turn: TurnContext, _compacted: boolean): Promise<BuiltRequest | 'compact'> {
  const model = modelOf(deps, turn.modelId);
  const tools = offeredTools(turn);
  const messages = await toMessages(await loadConversation(deps.db, turn), {
    attachments: [],
    resultBlocks: (blocks) => resultBlocks(deps.storage, blocks),
    toolAlias: (name) => tools.aliases.toModel(name),
  });
  return { model, tools, request: toRequest(model.entry, turn, tools, messages) };
}

/** @throws ApplicationFailure `model_error` when the catalogue has lost the session's model */
export function modelOf(deps: ActivityDeps, modelId: string): ModelClient {
  const model = deps.models.get(modelId);
  if (model === undefined) throw ApplicationFailure.nonRetryable('The catalogue has no such model any more.', 'model_error');
  return model;
}
