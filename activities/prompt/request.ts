import type Anthropic from '@anthropic-ai/sdk';
import type { ModelEntry } from '../../src/models/catalogue.js';
import type { ModelRequest, ToolDefinition } from '../../src/models/request.js';
import type { TurnContext } from '../../src/turns/context.js';
import { systemPrompt } from './system-prompt.js';
import type { ToolAliases } from './tool-aliases.js';

const MIN_THINKING = 1024;
const MAX_THINKING = 16_000;
/** What a budget may take of the window: thinking counts as output, and answers need room behind it. */
const THINKING_SHARE = 0.1;
/** With less room than that for its answer a request is no use. */
export const MIN_ANSWER = 256;
/** Room between count and truth. */
const MARGIN_SHARE = 0.01;
const CACHED = { type: 'ephemeral' } as const;

/**
 * Builds the request of a step. Breakpoints for the prompt cache (the API takes four) stand behind what stays the same:
 * the instruction, the skills of the turn, and the last two messages with results or of the user, so that a step finds
 * the one before and a turn the one before.
 */
export function toRequest(
  entry: ModelEntry,
  turn: TurnContext,
  tools: readonly ToolDefinition[],
  aliases: ToolAliases,
  messages: Anthropic.MessageParam[],
): ModelRequest {
  const request: ModelRequest = {
    model: entry.model,
    max_tokens: entry.max_output_tokens,
    system: systemPrompt(turn.instruction, turn.skills).map((text, index) => ({
      type: 'text',
      text,
      ...(index > 0 && { cache_control: CACHED }),
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

/** The request with as much room for its answer as its input leaves. */
export function withAnswerRoom(entry: ModelEntry, request: ModelRequest, inputTokens: number): ModelRequest {
  const room = Math.floor(entry.context_window * (1 - MARGIN_SHARE)) - inputTokens;
  const maxTokens = Math.max(Math.min(MIN_ANSWER, entry.max_output_tokens), Math.min(room, entry.max_output_tokens));
  const { thinking, ...rest } = request;
  const fits = thinking?.type !== 'enabled' || thinking.budget_tokens + MIN_ANSWER <= maxTokens;
  return { ...rest, max_tokens: maxTokens, ...(thinking !== undefined && fits && { thinking }) };
}

/** The same in every request of a session: another budget voids the cached messages. */
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
 * Thinking with a budget cannot be switched on within a loop of tool calls: the API refuses it where the first answer
 * since the user spoke does not begin with thinking.
 */
function mayThink(messages: Anthropic.MessageParam[]): boolean {
  const isResult = ({ type }: Anthropic.ContentBlockParam): boolean => type === 'tool_result';
  const spoken = messages.findLastIndex(
    ({ role, content }) => role === 'user' && !(content as Anthropic.ContentBlockParam[]).some(isResult),
  );
  const first = messages[spoken + 1]?.content[0] as Anthropic.ContentBlockParam | undefined;
  return first === undefined || first.type === 'thinking' || first.type === 'redacted_thinking';
}

function toolParams(tools: readonly ToolDefinition[], aliases: ToolAliases): Anthropic.ToolUnion[] {
  return tools.map((tool) => ({
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
    content[last] = { ...content[last]!, cache_control: CACHED } as Anthropic.ContentBlockParam;
    return { role: 'user', content };
  });
}
