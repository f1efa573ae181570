import type Anthropic from '@anthropic-ai/sdk';

/** The text of one message: its string, or its text blocks, a line each. */
export function textOf(message: Anthropic.MessageParam): string {
  if (typeof message.content === 'string') return message.content;
  return message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/**
 * Where a request stands in its conversation: `userText` is the text of the last user message that has any
 * (tool results have none), `step` the number of model answers since then: 0 for the first call of a turn.
 */
export function position(messages: Anthropic.MessageParam[]): { userText: string; step: number } {
  let step = 0;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at] as Anthropic.MessageParam;
    if (message.role === 'assistant') {
      step += 1;
      continue;
    }
    const continues = Array.isArray(message.content) && message.content.some((block) => block.type === 'tool_result');
    const userText = continues ? '' : textOf(message);
    if (userText !== '') return { userText, step };
  }
  return { userText: '', step };
}
