import { MAX_COUNT, TOKEN_KINDS, reportedCount, type CallUsage, type TokenKind } from '../../src/models/content.js';
import { tokensOfBytes } from '../../src/models/tokens.js';
import { exactText } from '../../src/platform/exact-json.js';
import { asJsonObject, isJsonObject, type JsonObject } from '../../src/platform/json-object.js';
import type { ModelEvent } from './read-events.js';

const INPUT_KINDS = TOKEN_KINDS.filter((kind) => kind !== 'output_tokens');

/** What is known of a call: counts that its server reported, and what its answer brought so far. */
export interface Measured {
  /** The input tokens of the request, as counted before the call. */
  countedInput: number;
  /** The last count of each kind. 0: not reported. */
  reported: Record<TokenKind, number>;
  /** The answer has its stop reason. */
  hasEnded: boolean;
  /** The server counted the output of an answer that had ended. */
  isOutputFinal: boolean;
  /** Bytes of the answer. */
  bytes: number;
}

/**
 * The usage of a call (decisions.md "Money and models"). An input that the server did not report takes our count, from the first byte of the
 * answer on: a call that brought nothing costs nothing. An output that it did not report at the end takes an estimate from
 * the bytes, as the input is counted.
 */
export function settleUsage({ countedInput, reported, hasEnded, isOutputFinal, bytes }: Measured): CallUsage {
  const usage: CallUsage = { ...reported };
  const lacksInput = INPUT_KINDS.every((kind) => usage[kind] === 0) && (bytes > 0 || hasEnded);
  const lacksOutput = !(isOutputFinal && usage.output_tokens > 0) && bytes > 0;
  if (lacksInput) usage.input_tokens = Math.min(countedInput, MAX_COUNT);
  if (lacksOutput) usage.output_tokens = Math.max(usage.output_tokens, tokensOfBytes(bytes));
  return lacksInput || lacksOutput ? { ...usage, estimated: true } : usage;
}

/** Measures one call from the events of its answer. */
export class UsageMeter {
  readonly #measured: Measured;
  /** Of the thinking that streams in: the bytes of its text, and those that its signature holds. */
  #thinking = { shown: 0, signed: 0 };

  constructor(countedInput: number) {
    const reported = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    this.#measured = { countedInput, reported, hasEnded: false, isOutputFinal: false, bytes: 0 };
  }

  /** The usage by now. */
  get usage(): CallUsage {
    return settleUsage({ ...this.#measured, bytes: this.#measured.bytes + this.#thinkingBytes });
  }

  /** Takes the next event of the answer. Other code says what is wrong with an event. */
  add(event: ModelEvent): void {
    switch (event.type) {
      case 'message_start':
        this.#report(event);
        return;
      case 'message_delta':
        this.#measured.hasEnded ||= typeof asJsonObject(event.delta).stop_reason === 'string';
        if (this.#report(event) && this.#measured.hasEnded) this.#measured.isOutputFinal = true;
        return;
      case 'content_block_start':
        this.#endThinking();
        this.#addBlock(asJsonObject(event.content_block));
        return;
      case 'content_block_delta':
        this.#addDelta(asJsonObject(event.delta));
        return;
      default:
        return;
    }
  }

  #addBlock({ type, text, thinking, signature, data, name, input }: JsonObject): void {
    if (type === 'text') this.#measured.bytes += bytesOf(text);
    else if (type === 'thinking') this.#thinking = { shown: bytesOf(thinking), signed: signedBytes(signature) };
    else if (type === 'redacted_thinking') this.#measured.bytes += signedBytes(data);
    else if (type === 'tool_use') {
      // Most servers send an empty object here, and the input in deltas.
      const isGiven = !isJsonObject(input) || Object.keys(input).length > 0;
      this.#measured.bytes += bytesOf(name) + (isGiven ? bytesOf(input) : 0);
    }
  }

  #addDelta({ type, text, thinking, signature, partial_json }: JsonObject): void {
    if (type === 'text_delta' || type === 'text') this.#measured.bytes += bytesOf(text);
    else if (type === 'input_json_delta') this.#measured.bytes += bytesOf(partial_json);
    else if (type === 'thinking_delta') this.#thinking.shown += bytesOf(thinking);
    else if (type === 'signature_delta') this.#thinking.signed += signedBytes(signature);
  }

  get #thinkingBytes(): number {
    return Math.max(this.#thinking.shown, this.#thinking.signed);
  }

  #endThinking(): void {
    this.#measured.bytes += this.#thinkingBytes;
    this.#thinking = { shown: 0, signed: 0 };
  }

  /**
   * Takes the counts of an event; returns whether it has the output. The API's counts are cumulative within a message: the
   * last one is the total. An event without input says nothing of it: some servers then send zeros.
   */
  #report({ usage, message }: ModelEvent): boolean {
    const counts = asJsonObject(usage ?? asJsonObject(message).usage);
    const { reported } = this.#measured;
    const output = reportedCount(counts.output_tokens);
    if (output !== null) reported.output_tokens = output;
    const input = INPUT_KINDS.map((kind) => [kind, reportedCount(counts[kind])] as const);
    if (input.some(([, count]) => count !== null && count > 0)) {
      for (const [kind, count] of input) reported[kind] = count ?? reported[kind];
    }
    return output !== null;
  }
}

/**
 * A thinking block's signature, or its data when it is redacted, holds the whole thinking in an encrypted form and as base64.
 * Its text may be a summary only, but the whole thinking is paid.
 */
function signedBytes(base64: unknown): number {
  return typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0;
}

function bytesOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return Buffer.byteLength(typeof value === 'string' ? value : exactText(value));
}
