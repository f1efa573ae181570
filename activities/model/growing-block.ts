import type Anthropic from '@anthropic-ai/sdk';
import { isDeeperThan } from '../../src/platform/depth.js';
import { storableText, type Redactor } from '../../src/platform/text.js';
import type { AssistantBlock } from '../../src/turns/content.js';
import { ModelStreamError } from './failures.js';

/** Postgres and JSON.stringify recurse over a tool's input, and fail at some thousand levels. */
const MAX_INPUT_DEPTH = 100;

/** Answers that end the turn although they may hold tool uses: those were cut in two, or never to be. */
const ENDS_EARLY: ReadonlySet<Anthropic.StopReason> = new Set([
  'max_tokens',
  'model_context_window_exceeded',
  'refusal',
]);

/** A block as it grows: pieces are joined once, at its end. `held`: an end that more text may turn into something else. */
export type GrowingBlock = { block: AssistantBlock; pieces: string[]; held: string; complete: boolean } | null;

/** Who gets the pieces of an answer while it comes in. */
export interface TextObserver {
  text(content: string): void;
  thinking(content: string): void;
}

/** Some servers send an input whole at the start of its block, and no fragments of it. */
function startedInput(input: unknown): string[] {
  const isGiven = typeof input === 'object' && input !== null && Object.keys(input).length > 0;
  return isGiven ? [JSON.stringify(input)] : [];
}

/** Blocks of kinds that this service does not ask for (server tools, citations) are passed over. */
export function begin(block: Anthropic.ContentBlock, redactor: Redactor): GrowingBlock {
  const clean = (text: string): string => redactor.redact(storableText(text));
  switch (block.type) {
    case 'text':
      return { block: { type: 'text', text: '' }, pieces: [], held: block.text, complete: false };
    case 'thinking':
      return {
        block: { type: 'thinking', thinking: '', signature: block.signature },
        pieces: [block.thinking],
        held: block.thinking,
        complete: false,
      };
    case 'redacted_thinking':
      return {
        block: { type: 'redacted_thinking', data: redactor.redact(block.data) },
        pieces: [],
        held: '',
        complete: false,
      };
    case 'tool_use':
      return {
        block: { type: 'tool_use', id: clean(block.id), name: clean(block.name), input: {} },
        pieces: startedInput(block.input),
        held: '',
        complete: false,
      };
    default:
      return null;
  }
}

export function grow(
  growing: GrowingBlock,
  delta: Anthropic.RawContentBlockDelta,
  observer: TextObserver,
  redactor: Redactor,
): void {
  if (growing === null) return;
  switch (delta.type) {
    case 'text_delta':
      hear(growing, settledText(growing, delta.text, redactor), observer);
      return;
    case 'thinking_delta':
      // Kept as it came: its signature is over these characters.
      growing.pieces.push(delta.thinking);
      hear(growing, settledText(growing, delta.thinking, redactor), observer);
      return;
    case 'signature_delta':
      if (growing.block.type === 'thinking') growing.block.signature += delta.signature;
      return;
    case 'input_json_delta':
      growing.pieces.push(delta.partial_json);
      return;
    default:
      return;
  }
}

/**
 * The text that no later delta changes; the rest is held. A server that cuts its text by UTF-16 units sends an emoji in
 * two deltas, each of which alone is no text; a key that it repeats may come in several, too.
 */
function settledText(growing: NonNullable<GrowingBlock>, delta: string, redactor: Redactor): string {
  const text = growing.held + delta;
  const last = text.charCodeAt(text.length - 1);
  const whole = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
  const clean = redactor.redact(storableText(text.slice(0, whole)));
  const end = clean.length - redactor.unfinishedLength(clean);
  growing.held = clean.slice(end) + text.slice(whole);
  return clean.slice(0, end);
}

/** Ends a block: nothing follows what it holds. */
export function complete(growing: GrowingBlock, observer: TextObserver, redactor: Redactor): void {
  if (growing === null) return;
  growing.complete = true;
  hear(growing, redactor.redact(storableText(growing.held)), observer);
  growing.held = '';
}

function hear(growing: NonNullable<GrowingBlock>, text: string, observer: TextObserver): void {
  if (text === '') return;
  if (growing.block.type === 'thinking') observer.thinking(text);
  else if (growing.block.type === 'text') {
    growing.pieces.push(text);
    observer.text(text);
  }
}

/** The blocks of a complete answer. Tool uses of one that ended early were never asked for. */
export function finished(
  growing: GrowingBlock[],
  stopReason: Anthropic.StopReason,
  redactor: Redactor,
): AssistantBlock[] {
  const blocks: AssistantBlock[] = [];
  for (const one of growing) {
    if (one == null) continue;
    const { block, pieces } = one;
    const whole = pieces.join('');
    // Not every server says where a block ends.
    if (block.type === 'text') block.text = redactor.redact(whole + storableText(one.held));
    else if (block.type === 'thinking') block.thinking = redactor.redact(whole);
    else if (block.type === 'tool_use') {
      if (ENDS_EARLY.has(stopReason)) continue;
      const input = one.complete ? toolInput(whole) : null;
      if (input === null) throw new ModelStreamError('The model’s answer has a tool call that is not JSON.');
      if (isDeeperThan(MAX_INPUT_DEPTH, input)) {
        throw new ModelStreamError(`The model’s answer has a tool call nested deeper than ${MAX_INPUT_DEPTH} levels.`);
      }
      // Without the escapes in which the server may have written a key.
      block.input = JSON.parse(redactor.redact(JSON.stringify(input))) as Record<string, unknown>;
    }
    blocks.push(block);
  }
  return blocks;
}

function toolInput(json: string): Record<string, unknown> | null {
  try {
    const input: unknown = JSON.parse(json === '' ? '{}' : json);
    return typeof input === 'object' && input !== null && !Array.isArray(input)
      ? (input as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
