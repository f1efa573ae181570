import type Anthropic from '@anthropic-ai/sdk';
import type { PromptUsage } from './prompt.js';
import { signThinking } from './wire.js';
import type { StopReason, UsageOverride } from './wire.js';

/** A block of an answer, without its content: that comes in deltas. */
export type BlockHead =
  | { type: 'text' }
  | { type: 'thinking' }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string };

const START = {
  text: { type: 'text', text: '', citations: null },
  thinking: { type: 'thinking', thinking: '', signature: '' },
} as const;
const DELTA = {
  text: '"text_delta","text":',
  thinking: '"thinking_delta","thinking":',
  tool_use: '"input_json_delta","partial_json":',
} as const;

/** A block as it stands in a body. */
export function wholeBlock(head: BlockHead, body: string): object {
  switch (head.type) {
    case 'text':
      return { type: 'text', text: body, citations: null };
    case 'thinking':
      return { type: 'thinking', thinking: body, signature: signThinking(body) };
    case 'redacted_thinking':
      return head;
    case 'tool_use':
      return { ...head, caller: { type: 'direct' }, input: parsed(body) };
  }
}

/** An input that was cut off has no value in a body; only a stream shows its beginning. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return {};
  }
}

export const frame = (event: Anthropic.RawMessageStreamEvent | { type: 'ping' }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export function blockStart(index: number, head: BlockHead): string {
  const block =
    head.type === 'tool_use'
      ? { ...head, input: {}, caller: { type: 'direct' as const } }
      : head.type === 'redacted_thinking'
        ? head
        : START[head.type];
  return frame({ type: 'content_block_start', index, content_block: block });
}

/** Everything of a delta's frame before its chunk of content, which follows as a JSON string and `}}`. */
export const deltaHead = (index: number, type: keyof typeof DELTA): string =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":${DELTA[type]}`;

/** A message before the counts of its output are known. */
export function messageOf(
  { id, model, usage }: { id: string; model: string; usage: PromptUsage & UsageOverride },
  content: object[],
  stopReason: StopReason | null,
): Anthropic.Message {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: content as Anthropic.ContentBlock[],
    stop_reason: stopReason,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens,
      cache_creation_input_tokens,
      cache_read_input_tokens,
      cache_creation: {
        ephemeral_5m_input_tokens: cache_creation_input_tokens,
        ephemeral_1h_input_tokens: 0,
      },
      output_tokens: 1,
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: 'standard',
      inference_geo: null,
      speed: null,
    },
  };
}
