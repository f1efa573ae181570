import type Anthropic from '@anthropic-ai/sdk';
import { ulid } from 'ulid';
import type { AssistantBlock } from '../../src/models/content.js';

/** Tool use ids that the Messages API accepts. */
const TOOL_USE_ID = /^[a-zA-Z0-9_-]{1,128}$/;

export function toolUseIds(messages: Anthropic.MessageParam[]): Set<string> {
  const ids = new Set<string>();
  for (const message of messages) {
    if (typeof message.content === 'string') continue;
    for (const block of message.content) if (block.type === 'tool_use') ids.add(block.id);
  }
  return ids;
}

/**
 * Replaces ids of tool uses that cannot be used. Some servers count from `call_0` in each answer, and the API rejects a
 * conversation with a repeated id. `requested` has the ids of the request.
 */
export function withUsableIds(content: AssistantBlock[], requested: ReadonlySet<string>): AssistantBlock[] {
  const taken = new Set(requested);
  return content.map((block) => {
    if (block.type !== 'tool_use') return block;
    const id = TOOL_USE_ID.test(block.id) && !taken.has(block.id) ? block.id : `toolu_${ulid()}`;
    taken.add(id);
    return { ...block, id };
  });
}
