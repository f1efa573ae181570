import type Anthropic from '@anthropic-ai/sdk';
import { isDeeperThan } from '../../src/platform/depth.js';
import type { Redactor } from '../../src/platform/redactor.js';
import { splitsSurrogatePair, storableText } from '../../src/platform/text.js';
import type { AssistantBlock } from '../../src/models/content.js';
import { ModelStreamError } from './failures.js';

/** Postgres and JSON.stringify recurse over a tool's input and fail at a few thousand levels. */
const MAX_INPUT_DEPTH = 100;

/** Stop reasons that end the turn even if the answer has tool uses: those may be incomplete, so they are not called. */
const ENDS_EARLY: ReadonlySet<Anthropic.StopReason> = new Set([
  'max_tokens',
  'model_context_window_exceeded',
  'refusal',
]);

/** A block that is still streaming in; its pieces are joined once, at its end. `held`: text that later text may change. */
export type GrowingBlock = { block: AssistantBlock; pieces: string[]; held: string; complete: boolean } | null;

/** Receives the pieces of an answer while it streams in. */
export interface TextObserver {
  text(content: string): void;
  thinking(content: string): void;
}

/** Some servers send the whole input at the start of its block instead of in fragments. */
function startedInput(input: unknown): string[] {
  const isGiven = typeof input === 'object' && input !== null && Object.keys(input).length > 0;
  return isGiven ? [JSON.stringify(input)] : [];
}

/** Blocks of types this service does not request (server tools, citations) are ignored. */
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
      emit(growing, settledText(growing, delta.text, redactor), observer);
      return;
    case 'thinking_delta':
      // Stored unchanged: the signature covers exactly these characters.
      growing.pieces.push(delta.thinking);
      emit(growing, settledText(growing, delta.thinking, redactor), observer);
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
 * Returns the text that no later delta can change and holds back the rest. A server may split an emoji between two
 * deltas, and neither half is valid text alone. An echoed key may be split in the same way.
 */
function settledText(growing: NonNullable<GrowingBlock>, delta: string, redactor: Redactor): string {
  const text = growing.held + delta;
  const whole = splitsSurrogatePair(text, text.length) ? text.length - 1 : text.length;
  const clean = redactor.redact(storableText(text.slice(0, whole)));
  const end = clean.length - redactor.unfinishedLength(clean);
  growing.held = clean.slice(end) + text.slice(whole);
  return clean.slice(0, end);
}

export function complete(growing: GrowingBlock, observer: TextObserver, redactor: Redactor): void {
  if (growing === null) return;
  growing.complete = true;
  emit(growing, redactor.redact(storableText(growing.held)), observer);
  growing.held = '';
}

function emit(growing: NonNullable<GrowingBlock>, text: string, observer: TextObserver): void {
  if (text === '') return;
  if (growing.block.type === 'thinking') observer.thinking(text);
  else if (growing.block.type === 'text') {
    growing.pieces.push(text);
    observer.text(text);
  }
}

/** Returns the blocks of a complete answer. Tool uses of an answer that was cut short are dropped. */
export function finished(
  growing: Iterable<GrowingBlock>,
  stopReason: Anthropic.StopReason,
  redactor: Redactor,
): AssistantBlock[] {
  const blocks: AssistantBlock[] = [];
  for (const one of growing) {
    if (one === null) continue;
    const { block, pieces } = one;
    const whole = pieces.join('');
    // Not every server marks the end of a block.
    if (block.type === 'text') block.text = redactor.redact(whole + storableText(one.held));
    else if (block.type === 'thinking') block.thinking = redactor.redact(whole);
    else if (block.type === 'tool_use') {
      if (ENDS_EARLY.has(stopReason)) continue;
      const input = one.complete ? toolInput(whole) : null;
      if (input === null) throw new ModelStreamError('The model’s answer has a tool call that is not JSON.');
      if (isDeeperThan(MAX_INPUT_DEPTH, input)) {
        throw new ModelStreamError(`The model’s answer has a tool call nested deeper than ${MAX_INPUT_DEPTH} levels.`);
      }
      // Redacted after parsing: in the JSON text a key may be hidden by escapes.
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
