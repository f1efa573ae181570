/** The frames of an answer, for tests that write them as a gateway would. */

export const frame = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export const begin = (usage: object = { input_tokens: 10, output_tokens: 1 }): string =>
  frame('message_start', { message: { id: 'm', type: 'message', role: 'assistant', content: [], usage } });
export const start = (index: unknown, content_block: object): string =>
  frame('content_block_start', { index, content_block });
export const startText = (index: unknown, text = ''): string => start(index, { type: 'text', text });
export const startTool = (index: unknown, more: object = {}): string =>
  start(index, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {}, ...more });
export const delta = (index: unknown, fields: object): string => frame('content_block_delta', { index, delta: fields });
export const text = (index: unknown, content: unknown): string => delta(index, { type: 'text_delta', text: content });
export const thinking = (index: unknown, content: unknown): string =>
  delta(index, { type: 'thinking_delta', thinking: content });
export const signature = (index: unknown, content: string): string =>
  delta(index, { type: 'signature_delta', signature: content });
export const json = (index: unknown, partial_json: unknown): string =>
  delta(index, { type: 'input_json_delta', partial_json });
export const stop = (index: unknown): string => frame('content_block_stop', { index });
export const reason = (stop_reason: unknown, usage: object = { output_tokens: 5 }): string =>
  frame('message_delta', { delta: { stop_reason }, usage });
export const END = frame('message_stop');

/** A text block with its start and its end. */
export const hello = (index = 0, content = 'Hello'): string => startText(index) + text(index, content) + stop(index);
/** The end of an answer, with its stop reason. */
export const end = (stopReason = 'end_turn'): string => reason(stopReason) + END;
