import type Anthropic from '@anthropic-ai/sdk';
import type { ModelEntry } from '../../src/models/catalogue.js';
import type { ModelRequest, ToolDefinition } from '../../src/models/request.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { RequestContext } from '../../src/steps/conversation.js';
import { systemPrompt } from './system-prompt.js';
import type { Aliases } from '../../src/models/aliases.js';
import { parameterAliases } from './parameter-aliases.js';

const MIN_THINKING = 1024;
const MAX_THINKING = 16_000;
/** Maximum share of the window for the thinking budget. Thinking counts as output, and the answer needs room, too. */
const THINKING_SHARE = 0.1;
/** A request with less room for its answer is not worth sending. */
export const MIN_ANSWER = 256;
/** Safety margin for errors of our token count. */
const MARGIN_SHARE = 0.01;
const CACHED = { type: 'ephemeral' } as const;

/**
 * Builds the request of a step. It sets the API's four breakpoints for the prompt cache: after the instruction, after what
 * the turn's message adds to it, and after the last two user messages. So each step reuses the cache of the step before, and each
 * turn the cache of the turn before.
 */
export function toRequest(
  entry: ModelEntry,
  { turn, outputSchema }: Pick<RequestContext, 'turn' | 'outputSchema'>,
  tools: readonly ToolDefinition[],
  aliases: Aliases,
  messages: Anthropic.MessageParam[],
): ModelRequest {
  const request: ModelRequest = {
    model: entry.model,
    max_tokens: entry.max_output_tokens,
    system: systemPrompt(turn, outputSchema !== null).map((text, index) => ({
      type: 'text',
      text,
      ...(index === 1 && { cache_control: CACHED }),
    })),
    messages: withBreakpoints(messages),
    tools: toolParams(tools, aliases),
  };
  if (request.tools!.length === 0) delete request.tools;
  const system = request.system as Anthropic.TextBlockParam[];
  system.at(-1)!.cache_control = CACHED;
  const thinking = thinkingOf(entry, turn, messages);
  if (thinking !== null) request.thinking = thinking;
  return request;
}

/** Sets max_tokens of the request to the room that its input leaves, or to a lower limit. */
export function withAnswerRoom(
  entry: ModelEntry,
  request: ModelRequest,
  inputTokens: number,
  limit = Number.POSITIVE_INFINITY,
): ModelRequest {
  const room = Math.floor(entry.context_window * (1 - MARGIN_SHARE)) - inputTokens;
  const maxTokens = Math.max(
    Math.min(MIN_ANSWER, entry.max_output_tokens),
    Math.min(room, entry.max_output_tokens, limit),
  );
  const { thinking, ...rest } = request;
  const fits = thinking?.type !== 'enabled' || thinking.budget_tokens + MIN_ANSWER <= maxTokens;
  return { ...rest, max_tokens: maxTokens, ...(thinking !== undefined && fits && { thinking }) };
}

/** The budget is the same in every request of a session, because a different one invalidates the cached messages. */
function thinkingOf(
  entry: ModelEntry,
  turn: TurnContext,
  messages: Anthropic.MessageParam[],
): Anthropic.ThinkingConfigParam | null {
  if (!turn.thinkingEnabled || !entry.supports_thinking || entry.thinking === 'none') return null;
  if (entry.thinking === 'adaptive') return { type: 'adaptive', display: 'summarized' };
  const most = Math.min(entry.max_output_tokens / 2, entry.context_window * THINKING_SHARE, MAX_THINKING);
  if (most < MIN_THINKING || !mayThink(messages)) return null;
  return { type: 'enabled', budget_tokens: Math.floor(most) };
}

/**
 * Thinking with a budget cannot be enabled in the middle of a tool loop: the API rejects the request if the first answer
 * after the last user message does not begin with thinking.
 */
function mayThink(messages: Anthropic.MessageParam[]): boolean {
  const isResult = ({ type }: Anthropic.ContentBlockParam): boolean => type === 'tool_result';
  const spoken = messages.findLastIndex(
    ({ role, content }) => role === 'user' && !(content as Anthropic.ContentBlockParam[]).some(isResult),
  );
  const first = messages[spoken + 1]?.content[0] as Anthropic.ContentBlockParam | undefined;
  return first === undefined || first.type === 'thinking' || first.type === 'redacted_thinking';
}

function toolParams(tools: readonly ToolDefinition[], aliases: Aliases): Anthropic.ToolUnion[] {
  return tools.map((tool) => ({
    name: aliases.toModel(tool.name),
    // Gateways refuse a request with an empty one.
    ...(tool.description.trim() !== '' && { description: tool.description }),
    input_schema: parameterAliases(tool.inputSchema).schema as Anthropic.Tool.InputSchema,
  }));
}

/** Sets a breakpoint on the last block of the last two user messages. Thinking blocks cannot have one. */
function withBreakpoints(messages: Anthropic.MessageParam[]): Anthropic.MessageParam[] {
  const users = messages.flatMap((message, index) => (message.role === 'user' ? [index] : [])).slice(-2);
  return messages.map((message, index) => {
    if (!users.includes(index)) return message;
    const content = [...(message.content as Anthropic.ContentBlockParam[])];
    const last = content.length - 1;
    content[last] = { ...content[last]!, cache_control: CACHED } as Anthropic.ContentBlockParam;
    return { role: 'user', content };
  });
}
