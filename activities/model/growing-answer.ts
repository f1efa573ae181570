import { exactText } from '../../src/platform/exact-json.js';
import { asJsonObject, isJsonObject, type JsonObject } from '../../src/platform/json-object.js';
import { storableText } from '../../src/platform/text.js';
import { MIB } from '../../src/platform/units.js';
import type { Redactor } from '../../src/platform/redactor.js';
import type { AssistantBlock } from '../../src/models/content.js';
import { GrowingProse, GrowingTool, readText, type TextObserver } from './growing-block.js';
import type { ModelEvent } from './read-events.js';
import { ModelStreamError } from './failures.js';

/** Eight times what a model writes in 128,000 tokens. */
const MAX_CHARACTERS = 4 * MIB;
/** Each tool call is an event, a row and an activity. */
const MAX_BLOCKS = 1000;

type Growing = GrowingProse | GrowingTool | Extract<AssistantBlock, { type: 'redacted_thinking' }>;

/**
 * Builds an answer from its events. Text and thinking go by the type of each delta and in the order in which they come,
 * because gateways send deltas without a start, in a block of another type and after its end. The input of a tool goes
 * by the index of its block.
 */
export class GrowingAnswer {
  /** `message_stop` has come. */
  isStopped = false;
  stopReason: string | null = null;
  /** Characters of text, thinking and tool input. */
  characters = 0;
  /** Grows with each event that adds to the answer. Repeated ends and empty deltas do not. */
  progress = 0;
  readonly #blocks: Growing[] = [];
  /** The tool calls by the index of their block, which may be anything. */
  readonly #tools = new Map<unknown, GrowingTool>();
  #latestTool: GrowingTool | null = null;
  /** The thinking by the index of its block, which may be anything: more than one where something else came in between. */
  readonly #thinking = new Map<unknown, GrowingProse[]>();
  /** The blocks that have no end yet, by index. */
  readonly #open = new Set<unknown>();
  /** Blocks of types that this service does not request, such as the server's own tools. */
  readonly #ignored = new Set<unknown>();
  #starts = 0;

  constructor(
    private readonly observer: TextObserver,
    private readonly redactor: Redactor,
  ) {}

  /** A stop reason has come and every block has ended: nothing is missing but `message_stop`. */
  get isWhole(): boolean {
    return this.stopReason !== null && this.#open.size === 0;
  }

  /** @throws ModelStreamError */
  take(event: ModelEvent): void {
    switch (event.type) {
      case 'content_block_start':
        return this.#start(event.index, asJsonObject(event.content_block));
      case 'content_block_delta':
        return this.#grow(event.index, asJsonObject(event.delta));
      case 'content_block_stop':
        if (this.#open.delete(event.index)) this.progress += 1;
        return;
      case 'message_delta':
        return this.#end(stopReasonIn(event));
      case 'message_stop':
        this.isStopped = true;
    }
  }

  /**
   * Returns the blocks of the complete answer. Tool calls of an answer that was cut short are dropped.
   * @throws ModelStreamError
   */
  finish(): AssistantBlock[] {
    const { stopReason } = this;
    if (stopReason === null) {
      throw new ModelStreamError(
        this.isStopped
          ? 'The model’s answer ended without a stop reason, so it may be cut off.'
          : 'The model’s answer was cut off.',
      );
    }
    if (stopReason === 'tool_use' && this.#latestTool === null) {
      throw new ModelStreamError('The model’s answer ended for a tool call but has none.');
    }
    const blocks = this.#blocks.filter((block) => !(block instanceof GrowingTool && ENDS_EARLY.has(stopReason)));
    return blocks.flatMap((block) => ('finish' in block ? block.finish() : [block]));
  }

  #end(stopReason: string | null): void {
    if (stopReason === null) return;
    if (this.stopReason === null) this.progress += 1;
    this.stopReason = stopReason;
  }

  #start(index: unknown, block: JsonObject): void {
    this.#starts += 1;
    this.progress += 1;
    checkCount(this.#starts);
    const isRepeated = this.#open.has(index);
    // The start of a block ends the one before it.
    this.#open.clear();
    this.#open.add(index);
    this.#ignored.delete(index);
    switch (block.type) {
      case 'text':
        return this.#write('text', block.text, index);
      case 'thinking':
        return this.#startThinking(index, block, isRepeated);
      case 'redacted_thinking':
        return this.#addRedacted(readText(block.data));
      case 'tool_use':
        return this.#startTool(index, block, isRepeated);
      default:
        this.#tools.delete(index);
        this.#ignored.add(index);
    }
  }

  /** It is of use only unchanged, for the model. */
  #addRedacted(data: string): void {
    if (data === '' || this.redactor.redact(storableText(data)) !== data) return;
    this.#push({ type: 'redacted_thinking', data });
  }

  /** Each thinking block has a signature of its own, unless a server starts one again with each token. */
  #startThinking(index: unknown, { thinking, signature }: JsonObject, isRepeated: boolean): void {
    const last = this.#prose();
    if (!isRepeated || last?.kind !== 'thinking' || last.isSigned) {
      this.#thinking.delete(index);
      this.#pushThinking(index);
    }
    this.#write('thinking', thinking, index);
    this.#thinking.get(index)!.at(-1)!.sign(readText(signature));
  }

  #startTool(index: unknown, { id, name, input }: JsonObject, isRepeated: boolean): void {
    const known = this.#tools.get(index);
    if (isRepeated && known !== undefined && known.id === readText(id)) return;
    const isGiven = isJsonObject(input) ? Object.keys(input).length > 0 : typeof input === 'string';
    const given = isGiven ? this.#jsonOf(input) : '';
    const tool = new GrowingTool(readText(id), readText(name), given, this.redactor);
    this.#tools.set(index, tool);
    this.#latestTool = tool;
    this.#push(tool);
  }

  #grow(index: unknown, delta: JsonObject): void {
    const before = this.progress;
    this.#takeDelta(index, delta);
    // After the stop reason, a delta without content does not open its block again.
    if (this.stopReason === null || this.progress > before) this.#open.add(index);
  }

  #takeDelta(index: unknown, delta: JsonObject): void {
    switch (delta.type) {
      case 'text_delta':
      case 'text':
        return this.#write('text', delta.text, index);
      case 'thinking_delta':
        return this.#write('thinking', delta.thinking, index);
      case 'signature_delta':
        return this.#sign(index, readText(delta.signature));
      case 'input_json_delta':
        return this.#growTool(index, this.#jsonOf(delta.partial_json));
    }
  }

  /** A signature covers all thinking of its block: it is of no use for thinking of which text or another signature cut off a part. */
  #sign(index: unknown, signature: string): void {
    if (signature === '') return;
    this.progress += 1;
    const thinking = this.#thinking.get(index) ?? [...this.#thinking.values()].at(-1) ?? [];
    if (thinking.length === 1) thinking[0]!.sign(signature, { isEnd: true });
  }

  #growTool(index: unknown, json: string): void {
    // Without an index it belongs to the latest call.
    const tool = index === undefined ? this.#latestTool : this.#tools.get(index);
    if (tool) return tool.append(json);
    if (json === '' || this.#ignored.has(index)) return;
    throw new ModelStreamError('The model’s answer has the input of a tool call that it did not start.');
  }

  #write(kind: 'text' | 'thinking', value: unknown, index: unknown): void {
    const text = this.#counted(value);
    if (text === '') return;
    const last = this.#prose();
    if (last?.kind === kind && !last.isEnded) last.append(text);
    else (kind === 'text' ? this.#pushProse('text') : this.#pushThinking(index)).append(text);
  }

  /** The block that text and thinking are added to, if the last block is one. */
  #prose(): GrowingProse | null {
    const last = this.#blocks.at(-1);
    return last instanceof GrowingProse ? last : null;
  }

  #pushThinking(index: unknown): GrowingProse {
    const prose = this.#pushProse('thinking');
    this.#thinking.set(index, [...(this.#thinking.get(index) ?? []), prose]);
    return prose;
  }

  #pushProse(kind: 'text' | 'thinking'): GrowingProse {
    const prose = new GrowingProse(kind, this.observer, this.redactor);
    this.#push(prose);
    return prose;
  }

  #push(block: Growing): void {
    this.#prose()?.flush();
    this.#blocks.push(block);
    checkCount(this.#blocks.length);
  }

  #counted(value: unknown): string {
    const text = readText(value);
    this.characters += text.length;
    this.progress += text.length;
    if (this.characters > MAX_CHARACTERS) throw new ModelStreamError('The model’s answer is too long.');
    return text;
  }

  /** Some servers send the input of a tool as a value instead of its JSON. */
  #jsonOf(value: unknown): string {
    return this.#counted(typeof value === 'object' && value !== null ? exactText(value) : value);
  }
}

function checkCount(blocks: number): void {
  if (blocks > MAX_BLOCKS) throw new ModelStreamError(`The model’s answer has more than ${MAX_BLOCKS} blocks.`);
}

/** Stop reasons that end the turn even if the answer has tool uses: those may be incomplete, so they are not called. */
export const ENDS_EARLY: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal']);

/** The words of other APIs that gateways pass on. */
const WORDS = new Map([
  ['stop', 'end_turn'],
  ['eos', 'end_turn'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'refusal'],
  ['safety', 'refusal'],
  ['sensitive', 'refusal'],
]);

/** An answer that ends for such a reason is not whole. */
const BROKEN = /^(error|abort(ed)?|cancell?ed|network_error|insufficient_system_resource|malformed_function_call)$/;
const WORD = /^[\w-]{1,64}$/;

/**
 * The stop reason of a `message_delta`, in the words of the Messages API; null if it has none. An unknown word is kept,
 * because the API may get new ones.
 * @throws ModelStreamError for a reason that says that the answer broke off
 */
export function stopReasonIn(event: JsonObject): string | null {
  const { stop_reason: reason } = asJsonObject(event.delta);
  if (typeof reason !== 'string' || !WORD.test(reason)) return null;
  const word = reason.toLowerCase();
  if (BROKEN.test(word)) throw new ModelStreamError(`The model’s answer broke off (stop reason "${word}").`);
  return WORDS.get(word) ?? word;
}
