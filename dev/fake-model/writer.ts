import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type Anthropic from '@anthropic-ai/sdk';
import { blockStart, deltaHead, frame, messageOf, wholeBlock, type BlockHead } from './frames.js';
import { outputTokens, type PromptUsage } from './prompt.js';
import { errorBody, ModelFailure, newId, sendJson, signThinking } from './wire.js';
import type { ModelErrorType, StopReason, UsageOverride } from './wire.js';

/** What a message needs before its first byte. */
export interface MessageOptions {
  requestId: string;
  model: string;
  /** True: server-sent events. False: one JSON body at the end. */
  stream: boolean;
  usage: PromptUsage;
  /** Counts to report instead of the measured ones. */
  override?: UsageOverride;
  /** Output tokens after which the message ends by itself, and the reason that it then gives. */
  limit: { tokens: number; reason: StopReason };
}

const FLUSH_CHARS = 64 * 1024;

/**
 * Writes one message, as a stream or as a body. Frames are gathered until `flush`, `sleepUntil` or `until`, so that
 * what is not held back by the caller costs one write.
 */
export class MessageWriter {
  /** True once nothing can be written any more: the client went away or the message ended. */
  closed = false;
  /** True when it was `cut` that ended the connection. */
  wasCut = false;

  readonly #gone: Promise<void>;
  readonly #content: object[] = [];
  readonly #id = newId('msg');
  #open: BlockHead | undefined;
  #body: string[] = [];
  #deltaHead = '';
  #index = -1;
  #chars = 0;
  #buffer = '';
  #wake: () => void = () => {};

  constructor(
    private readonly response: ServerResponse,
    private readonly options: MessageOptions,
  ) {
    this.#gone = new Promise((resolve) => {
      const end = (): void => {
        this.closed = true;
        this.#wake();
        resolve();
      };
      // A script may have thought for longer than its client waited.
      if (response.closed) end();
      else response.once('close', end);
    });
    if (this.closed) return;
    if (!options.stream) return;
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'request-id': options.requestId,
    });
    this.#buffer = frame({ type: 'message_start', message: this.#message([], null) }) + frame({ type: 'ping' });
  }

  open(head: BlockHead): void {
    this.#index += 1;
    this.#open = head;
    this.#body = [];
    if (head.type !== 'redacted_thinking') this.#deltaHead = deltaHead(this.#index, head.type);
    if (this.options.stream) this.#buffer += blockStart(this.#index, head);
  }

  /** Adds to the open block. False when the message has reached its limit of tokens: nothing more fits. */
  delta(chunk: string): boolean {
    const room = this.options.limit.tokens * 4 - this.#chars;
    const kept = chunk.length <= room ? chunk : chunk.slice(0, room);
    this.#chars += kept.length;
    if (kept !== '') {
      if (!this.options.stream || this.#open?.type === 'thinking') this.#body.push(kept);
      if (this.options.stream) this.#buffer += `${this.#deltaHead}${JSON.stringify(kept)}}}\n\n`;
    }
    return kept.length === chunk.length;
  }

  /** Ends the open block; a thinking block gets its signature. */
  close(): void {
    const head = this.#open as BlockHead;
    this.#open = undefined;
    if (!this.options.stream) {
      this.#content.push(wholeBlock(head, this.#body.join('')));
      return;
    }
    if (head.type === 'thinking') {
      const delta = { type: 'signature_delta' as const, signature: signThinking(this.#body.join('')) };
      this.#buffer += frame({ type: 'content_block_delta', index: this.#index, delta });
    }
    this.#buffer += frame({ type: 'content_block_stop', index: this.#index });
  }

  finish(stopReason: StopReason): void {
    if (this.closed) return;
    if (this.#open) this.close();
    const usage = {
      ...this.options.usage,
      output_tokens: outputTokens(this.#chars),
      output_tokens_details: null,
      server_tool_use: null,
      ...this.options.override,
    };
    if (!this.options.stream) {
      const message = this.#message(this.#content, stopReason);
      message.usage = { ...message.usage, ...usage };
      sendJson(this.response, 200, JSON.stringify(message), { 'request-id': this.options.requestId });
      return;
    }
    const delta = { stop_reason: stopReason, stop_sequence: null, stop_details: null, container: null };
    this.#buffer += frame({ type: 'message_delta', delta, usage }) + frame({ type: 'message_stop' });
    this.response.end(this.#buffer);
    this.#buffer = '';
  }

  /** Sends an `error` frame and ends the stream, as the real API does when it fails after its first byte. */
  fail(type: ModelErrorType, message: string): void {
    if (!this.options.stream) throw new ModelFailure(type, message);
    this.response.end(`${this.#buffer}event: error\ndata: ${errorBody(type, message, this.options.requestId)}\n\n`);
  }

  raw(bytes: string): void {
    if (!this.options.stream) throw new Error('Only a stream can carry raw bytes; answer with an HttpReply instead');
    this.#buffer += bytes;
  }

  /** Cuts the connection, after everything before has left. */
  async cut(): Promise<void> {
    this.wasCut = true;
    // Destroyed earlier, the connection would drop what was just written.
    await new Promise<unknown>((resolve) => this.response.write(this.#buffer || '\n', resolve));
    this.response.destroy();
  }

  /** True when enough has gathered to be worth a `flush`. */
  get full(): boolean {
    return this.#buffer.length >= FLUSH_CHARS;
  }

  /** Writes what has gathered, and waits for a client that reads slowly. */
  async flush(): Promise<void> {
    if (this.#buffer === '' || this.closed) return;
    const ready = this.response.write(this.#buffer);
    this.#buffer = '';
    if (!ready) await Promise.race([once(this.response, 'drain'), this.#gone]);
  }

  /** Flushes, then waits until `performance.now()` reaches `time`. */
  async sleepUntil(time: number): Promise<void> {
    await this.flush();
    if (this.closed) return;
    const left = time - performance.now();
    if (left <= 0) {
      await setImmediate();
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, left);
    });
    clearTimeout(timer);
  }

  /** Flushes, then waits for something else. Either wait ends early when the client goes away. */
  async until(event: PromiseLike<unknown>): Promise<void> {
    await this.flush();
    await Promise.race([event, this.#gone]);
  }

  #message(content: object[], stopReason: StopReason | null): Anthropic.Message {
    const { model, usage, override } = this.options;
    return messageOf({ id: this.#id, model, usage: { ...usage, ...override } }, content, stopReason);
  }
}
