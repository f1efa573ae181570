import { tokensOfBytes } from '../../src/models/tokens.js';
import { loadConversation } from '../../src/steps/conversation.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import type { ActivityDeps } from '../deps.js';
import { definitionBytes } from '../tools/definition-bytes.js';
import { offerTools } from '../tools/turn-tools.js';
import { definitionLimits } from './definition-limits.js';

/** If the definitions take more of the window than this, they are the reason why a turn does not fit. */
const TOO_LARGE_SHARE = 0.5;

/** Says that the definitions of a turn's tools are too large for its model's window, and whose they are; null if they are not. */
export async function describeTooLargeTools(deps: ActivityDeps, turnId: string): Promise<string | null> {
  const loaded = await loadConversation(deps.db, turnId).catch((error: unknown) => {
    if (error instanceof TurnEndedError) return null;
    throw error;
  });
  const entry = loaded === null ? undefined : deps.models.get(loaded.turn.modelId)?.entry;
  if (loaded === null || entry === undefined) return null;
  const owners = new Map<string, { tools: number; bytes: number }>();
  for (const { owner, shown, definition } of offerTools(
    deps.toolSources,
    loaded,
    definitionLimits(deps, loaded.turn),
  )) {
    if (owner === null || shown === 'found') continue;
    const { tools, bytes } = owners.get(owner) ?? { tools: 0, bytes: 0 };
    owners.set(owner, { tools: tools + 1, bytes: bytes + definitionBytes(definition) });
  }
  const total = tokensOfBytes([...owners.values()].reduce((sum, { bytes }) => sum + bytes, 0));
  if (total <= entry.context_window * TOO_LARGE_SHARE) return null;
  const [[largest, { tools, bytes }]] = [...owners].sort(([, a], [, b]) => b.bytes - a.bytes) as [
    [string, { tools: number; bytes: number }],
  ];
  return (
    `The definitions of the tools do not fit into the context of the model: they take about ${total} of its ${entry.context_window} tokens. ` +
    `The largest part is that of ${largest}: ${tools} ${tools === 1 ? 'tool' : 'tools'}, about ${tokensOfBytes(bytes)} tokens. ` +
    'Allow fewer of its tools (allowed_tools), or let the agent find them by search (defer of mcp_toolset).'
  );
}
