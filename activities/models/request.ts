import type Anthropic from '@anthropic-ai/sdk';
import type { ModelEntry } from '../../src/models/catalogue.js';
import type { OfferedTools } from '../tools/offered.js';
import type { TurnContext } from '../turn-context.js';
import { systemPrompt } from './system-prompt.js';

const SMALLEST_THINKING = 1024;
const LARGEST_THINKING = 16_000;
/** Room between estimate and truth. */
const MARGIN_TOKENS = 512;
const CHARACTERS_PER_TOKEN = 3.5;

/** The request of a step, without its stream flag. */
export type ModelRequest = Anthropic.MessageCreateParamsNonStreaming;

/**
 * Builds the request of a step. Breakpoints for the prompt cache stand behind what stays the same: the system prompt,
 * the messages before the last user message, and the end; so a step finds the one before, a turn the one before.
 */
export function toRequest(
  entry: ModelEntry,
  turn: TurnContext,
  tools: OfferedTools,
  messages: Anthropic.MessageParam[],
): ModelRequest {
  const system = systemPrompt(turn.instruction, turn.skills).map((part): Anthropic.TextBlockParam => ({
    type: 'text',
    text: part,
  }));
  system.at(-1)!.cache_control = { type: 'ephemeral' };
  const request: ModelRequest = {
    model: entry.model,
    max_tokens: entry.max_output_tokens,
    system,
    messages: withBreakpoints(messages),
    tools: toolParams(tools),
  };
  if (request.tools!.length === 0) delete request.tools;
  request.max_tokens = outputRoom(entry, estimateTokens(request));
  const thinking = thinkingOf(entry, turn, request.max_tokens);
  if (thinking !== null) request.thinking = thinking;
  return request;
}

/** A rough count of a request's input tokens, rather too high than too low; bytes of images count apart. */
export function estimateTokens(request: Pick<ModelRequest, 'system' | 'messages' | 'tools'>): number {
  let characters = 0;
  let media = 0;
  const text = JSON.stringify([request.system, request.messages, request.tools], (key, value: unknown) => {
    if (key === 'data' && typeof value === 'string') {
      // An image costs at most about 1,600 tokens, a PDF some per page; base64 text says nothing of either.
      media += Math.min(1600 + value.length / 100, 100_000);
      return '';
    }
    return value;
  });
  characters += text.length;
  return Math.ceil(characters / CHARACTERS_PER_TOKEN + media);
}

function outputRoom(entry: ModelEntry, inputTokens: number): number {
  const room = entry.context_window - inputTokens - MARGIN_TOKENS;
  return Math.max(
    1,
    Math.min(entry.max_output_tokens, Math.max(room, Math.min(SMALLEST_THINKING * 2, entry.max_output_tokens))),
  );
}

function thinkingOf(entry: ModelEntry, turn: TurnContext, maxTokens: number): Anthropic.ThinkingConfigParam | null {
  if (!turn.thinkingEnabled || !entry.supports_thinking || entry.thinking === 'none') return null;
  if (entry.thinking === 'adaptive') return { type: 'adaptive', display: 'summarized' };
  const budget = Math.min(LARGEST_THINKING, Math.floor(maxTokens / 2));
  return budget < SMALLEST_THINKING ? null : { type: 'enabled', budget_tokens: budget };
}

function toolParams({ builtIn, mcp, aliases }: OfferedTools): Anthropic.ToolUnion[] {
  return [...builtIn, ...mcp].map((tool) => ({
    name: aliases.toModel(tool.name),
    description: tool.description,
    input_schema: tool.inputSchema as Anthropic.Tool.InputSchema,
  }));
}

/** Marks the last blocks of the last two user messages; thinking blocks cannot carry a mark, user blocks all can. */
function withBreakpoints(messages: Anthropic.MessageParam[]): Anthropic.MessageParam[] {
  const users = messages.flatMap((message, index) => (message.role === 'user' ? [index] : [])).slice(-2);
  return messages.map((message, index) => {
    if (!users.includes(index)) return message;
    const content = [...(message.content as Anthropic.ContentBlockParam[])];
    const last = content.length - 1;
    content[last] = { ...content[last]!, cache_control: { type: 'ephemeral' } } as Anthropic.ContentBlockParam;
    return { role: 'user', content };
  });
}
