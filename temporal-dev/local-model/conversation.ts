import type Anthropic from '@anthropic-ai/sdk';

/** What clients of the service add to a message for the model is no word of the user. */
const ADDED = /^<(turn-facts|summary-of-earlier-turns)>/;

/** The text of one message: its string, or its text blocks, a line each; of a user's only what the user said. */
export function textOf({ role, content }: Anthropic.MessageParam): string {
  if (typeof content === 'string') return content;
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.filter((text) => role !== 'user' || !ADDED.test(text)).join('\n');
}

/**
 * Where a request stands in its conversation: `userText` is the text of the last user message that has any,
 * `step` the number of model answers since then: 0 for the first call of a turn. Results of tools alone are no message;
 * behind those of a turn that was cut off the next message may stand in the same one.
 */
export function position(messages: Anthropic.MessageParam[]): { userText: string; step: number } {
  let step = 0;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at] as Anthropic.MessageParam;
    if (message.role === 'assistant') {
      step += 1;
      continue;
    }
    const userText = textOf(message);
    if (userText !== '') return { userText, step };
  }
  return { userText: '', step };
}
