import { isDeeperThan } from '../../src/platform/depth.js';
import { isMarkedNumber, parseExact } from '../../src/platform/exact-json.js';
import { isJsonObject, type JsonObject } from '../../src/platform/json-object.js';
import type { Redactor } from '../../src/platform/redactor.js';
import { splitsSurrogatePair, storableJson, storableText } from '../../src/platform/text.js';
import type { AssistantBlock } from '../../src/models/content.js';
import { ModelStreamError } from './failures.js';

/** Postgres and JSON.stringify recurse over a tool's input and fail at a few thousand levels. */
const MAX_INPUT_DEPTH = 100;

/** Receives the pieces of an answer while it streams in. */
export interface TextObserver {
  text(content: string): void;
  thinking(content: string): void;
}

/** Text or thinking that is still streaming in; its pieces are joined once, at its end. */
export class GrowingProse {
  readonly #pieces: string[] = [];
  /** Text that later text may change. */
  #held = '';
  #signature = '';
  /** Its signature has come after it: what follows is a block of its own. */
  isEnded = false;

  constructor(
    readonly kind: 'text' | 'thinking',
    private readonly observer: TextObserver,
    private readonly redactor: Redactor,
  ) {}

  get isSigned(): boolean {
    return this.#signature !== '';
  }

  append(text: string): void {
    // The signature covers exactly these characters.
    if (this.kind === 'thinking') this.#pieces.push(text);
    this.#emit(this.#settled(text));
  }

  sign(signature: string, { isEnd = false } = {}): void {
    this.#signature += signature;
    if (isEnd) this.isEnded = true;
  }

  /** Emits the text that was held back. */
  flush(): void {
    const rest = this.redactor.redact(storableText(this.#held));
    this.#held = '';
    this.#emit(rest);
  }

  /** The block, unless it is empty. */
  finish(): AssistantBlock[] {
    this.flush();
    const given = this.#pieces.join('');
    const whole = this.redactor.redact(storableText(given));
    // A signature is of no use for thinking that had to be changed.
    const signature = whole === given ? this.#signature : '';
    if (whole === '' && signature === '') return [];
    return [this.kind === 'text' ? { type: 'text', text: whole } : { type: 'thinking', thinking: whole, signature }];
  }

  /**
   * Returns the text that no later delta can change and holds back the rest. A server may split an emoji between two
   * deltas, and neither half is valid text alone. An echoed key may be split in the same way.
   */
  #settled(delta: string): string {
    const text = this.#held + delta;
    const whole = splitsSurrogatePair(text, text.length) ? text.length - 1 : text.length;
    const clean = this.redactor.redact(storableText(text.slice(0, whole)));
    const end = clean.length - this.redactor.unfinishedLength(clean);
    this.#held = clean.slice(end) + text.slice(whole);
    return clean.slice(0, end);
  }

  #emit(text: string): void {
    if (text === '') return;
    if (this.kind === 'text') this.#pieces.push(text);
    this.observer[this.kind](text);
  }
}

/** A tool call that is still streaming in. */
export class GrowingTool {
  readonly #pieces: string[] = [];

  /** @param given its whole input as JSON, if the server sent it at the start of the call */
  constructor(
    readonly id: string,
    private readonly name: string,
    private readonly given: string,
    private readonly redactor: Redactor,
  ) {}

  append(json: string): void {
    this.#pieces.push(json);
  }

  /** @throws ModelStreamError if the call cannot be made as the model wrote it */
  finish(): AssistantBlock[] {
    const clean = (text: string): string => this.redactor.redact(storableText(text));
    if (this.name === '') throw new ModelStreamError('The model’s answer has a tool call without a name.');
    const input = toolInput(this.#pieces.join('').trim() || this.given);
    if (input === null) throw new ModelStreamError('The model’s answer has a tool call that is not JSON.');
    if (isDeeperThan(MAX_INPUT_DEPTH, input)) {
      throw new ModelStreamError(`The model’s answer has a tool call nested deeper than ${MAX_INPUT_DEPTH} levels.`);
    }
    // Redacted after parsing: in the JSON text a key may be hidden by escapes.
    const redacted = JSON.parse(this.redactor.redact(storableJson(JSON.stringify(input)))) as JsonObject;
    return [{ type: 'tool_use', id: clean(this.id), name: clean(this.name), input: redacted }];
  }
}

/**
 * The object that a call's input is; null if it is none. Gateways that translate from other APIs write no arguments as null, a list or a
 * text without content, and the object as a string.
 */
function toolInput(json: string): JsonObject | null {
  const input = parsedInput(json);
  return objectOf(typeof input === 'string' && !isMarkedNumber(input) ? parsedInput(input) : input);
}

function objectOf(input: unknown): JsonObject | null {
  if (input === null || (Array.isArray(input) && input.length === 0)) return {};
  return isJsonObject(input) ? input : null;
}

/** Undefined for a text that is no JSON; null for one without content. */
function parsedInput(json: string): unknown {
  if (json.trim() === '') return null;
  try {
    return parseExact(json);
  } catch {
    return undefined;
  }
}

/** A text field of an event. Many servers leave empty ones out. */
export function readText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string' && !isMarkedNumber(value)) return value;
  throw new ModelStreamError('The model’s answer is not valid.');
}
