import type Anthropic from '@anthropic-ai/sdk';

/** Text that the service adds to a message for the model; the rules must ignore it. */
const ADDED = /^<(turn-facts|summary-of-earlier-turns)>/;

/** The text of a message: its string, or its text blocks joined by line feeds, without text added by the service. */
export function textOf({ role, content }: Anthropic.MessageParam): string {
  if (typeof content === 'string') return content;
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.filter((text) => role !== 'user' || !ADDED.test(text)).join('\n');
}

/**
 * The text of the newest message of the user: what follows the last facts. One message for the model also holds the texts
 * of earlier turns that ended without an answer.
 */
function newestTextOf(message: Anthropic.MessageParam): string {
  if (typeof message.content === 'string' || message.role !== 'user') return textOf(message);
  const { role, content } = message;
  const facts = content.findLastIndex((block) => block.type === 'text' && block.text.startsWith('<turn-facts>'));
  return textOf({ role, content: content.slice(facts + 1) });
}

/**
 * Finds the position of a request in its conversation. `userText` is the text of the user's newest message.
 * `step` is the number of model answers since then: 0 for the first call of a turn. Messages with only tool results do
 * not count. After a turn that was cut short, tool results and the next user text can be in the same message.
 */
export function position(messages: Anthropic.MessageParam[]): { userText: string; step: number } {
  let step = 0;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at] as Anthropic.MessageParam;
    if (message.role === 'assistant') {
      step += 1;
      continue;
    }
    const userText = newestTextOf(message);
    if (userText !== '') return { userText, step };
  }
  return { userText: '', step };
}
