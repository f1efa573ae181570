import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerBlock } from './rules.js';

type Block = { type: 'thinking'; thinking: string } | AnswerBlock;

/** Our estimate of a token's length. */
export const CHARS_PER_TOKEN = 4;
/** The start of each block type, and the type and field of its deltas. */
const EMPTY = { thinking: { thinking: '', signature: '' }, text: { text: '' }, tool_use: { input: {} } };
const DELTA = {
  thinking: ['thinking_delta', 'thinking'],
  text: ['text_delta', 'text'],
  tool_use: ['input_json_delta', 'partial_json'],
} as const;

interface MessageOptions {
  model: string;
  inputTokens: number;
  maxTokens: number;
  /** 0: without pause. */
  wordsPerSecond: number;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
}

/** Writes a message as server-sent events, word by word, and ends the response. */
export async function writeAnswer(
  response: ServerResponse,
  blocks: Block[],
  { model, inputTokens, maxTokens, wordsPerSecond, signal }: MessageOptions,
): Promise<void> {
  const send = async (event: { type: string; [field: string]: unknown }): Promise<void> => {
    const isReady = response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    if (!isReady) await once(response, 'drain', { signal });
  };
  const started = performance.now();
  let [words, chars] = [0, 0];
  /** Sends a text word by word. Returns false once the message has `maxTokens`. */
  const sendDeltas = async (index: number, block: Block): Promise<boolean> => {
    const [type, field] = DELTA[block.type];
    for (const [word] of bodyOf(block).matchAll(/\s*\S+/g)) {
      const part = word.slice(0, maxTokens * CHARS_PER_TOKEN - chars);
      chars += part.length;
      words += 1;
      if (part !== '') await send({ type: 'content_block_delta', index, delta: { type, [field]: part } });
      if (part !== word) return false;
      // Measured from the start of the text, so that a late timer does not slow the rest.
      const due = wordsPerSecond === 0 ? 0 : started + (words * 1000) / wordsPerSecond - performance.now();
      if (due > 0) await sleep(due, undefined, { signal });
    }
    return true;
  };

  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  const usage = { input_tokens: inputTokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const message = { id: `msg_${randomBytes(12).toString('hex')}`, type: 'message', role: 'assistant', model };
  const empty = { content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } };
  await send({ type: 'message_start', message: { ...message, ...empty } });
  let stopReason = blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
  for (const [index, block] of blocks.entries()) {
    await send({ type: 'content_block_start', index, content_block: { ...block, ...EMPTY[block.type] } });
    const isWhole = await sendDeltas(index, block);
    if (block.type === 'thinking') {
      const delta = { type: 'signature_delta', signature: 'unsigned' };
      await send({ type: 'content_block_delta', index, delta });
    }
    await send({ type: 'content_block_stop', index });
    if (isWhole) continue;
    stopReason = 'max_tokens';
    break;
  }
  const output_tokens = Math.max(1, Math.ceil(chars / CHARS_PER_TOKEN));
  const delta = { stop_reason: stopReason, stop_sequence: null };
  await send({ type: 'message_delta', delta, usage: { ...usage, output_tokens } });
  await send({ type: 'message_stop' });
  response.end();
}

function bodyOf(block: Block): string {
  if (block.type === 'thinking') return block.thinking;
  return block.type === 'text' ? block.text : JSON.stringify(block.input);
}
