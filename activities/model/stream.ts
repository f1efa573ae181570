import type Anthropic from '@anthropic-ai/sdk';
import { APIConnectionError } from '@anthropic-ai/sdk';
import { isDeeperThan } from '../../src/platform/depth.js';
import { ServiceError } from '../../src/platform/errors.js';
import { storableText } from '../../src/platform/text.js';
import type { Answer, AssistantBlock, CallUsage } from '../../src/turns/content.js';
import type { ModelClient } from './clients.js';
import type { SendRequest } from './send.js';
import { ModelIdleTimeoutError, ModelStreamError } from './failures.js';

export interface StreamObserver {
  /** The model has taken the call; what it will cost so far. */
  started(usage: CallUsage): void;
  text(content: string): void;
  thinking(content: string): void;
}

/** A block as it grows: pieces are joined once, at its end. `half` of a character waits for the other one. */
type GrowingBlock = { block: AssistantBlock; pieces: string[]; half: string; complete: boolean } | null;

/**
 * Calls the model and reads its answer as a stream. `answer` is filled while it comes in, so that a caller whose call
 * broke off knows what it cost. Every byte restarts the watchdog: a ping is a sign of life.
 * @throws ModelIdleTimeoutError, ModelStreamError, the SDK's APIError, or what aborted `signal`
 */
export async function streamAnswer(
  { api, send }: ModelClient,
  params: Anthropic.MessageCreateParamsNonStreaming,
  answer: Answer,
  observer: StreamObserver,
  signal: AbortSignal,
  idleSeconds: number,
): Promise<void> {
  const began = performance.now();
  const watchdog = new Watchdog(idleSeconds);
  const either = AbortSignal.any([signal, watchdog.signal]);
  try {
    const client = api.withOptions({ fetch: (url, init) => watchedFetch(send, url, init, watchdog) });
    const stream = await client.messages.create({ ...params, stream: true }, { signal: either });
    const growing: GrowingBlock[] = [];
    let stopped = false;
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && answer.firstTokenMs === null) {
        answer.firstTokenMs = performance.now() - began;
      }
      stopped ||= event.type === 'message_stop';
      take(event, answer, growing, observer);
    }
    watchdog.signal.throwIfAborted();
    signal.throwIfAborted();
    if (!stopped || answer.stopReason === null) throw new ModelStreamError('The model’s answer broke off.');
    answer.content = finished(growing, answer.stopReason as Anthropic.StopReason);
  } catch (error) {
    watchdog.signal.throwIfAborted();
    signal.throwIfAborted();
    // The SDK wraps what `send` throws.
    if (error instanceof APIConnectionError && error.cause instanceof ServiceError) throw error.cause;
    throw error;
  } finally {
    watchdog.stop();
  }
}

/** Aborts when nothing came for `seconds`; it starts when the request begins to leave. */
class Watchdog {
  #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly seconds: number) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    const abort = (): void => this.#controller.abort(new ModelIdleTimeoutError(this.seconds));
    this.#timer = this.#timer?.refresh() ?? setTimeout(abort, this.seconds * 1000);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

async function watchedFetch(
  send: SendRequest,
  url: string | URL | Request,
  init: RequestInit | undefined,
  watchdog: Watchdog,
): Promise<Response> {
  const response = await send(url, init, () => watchdog.restart());
  watchdog.restart();
  if (response.body === null) return response;
  const seen = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      watchdog.restart();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(seen), response);
}

function take(
  event: Anthropic.RawMessageStreamEvent,
  answer: Answer,
  growing: GrowingBlock[],
  observer: StreamObserver,
): void {
  switch (event.type) {
    case 'message_start':
      takeUsage(answer.usage, event.message.usage);
      observer.started({ ...answer.usage });
      return;
    case 'message_delta':
      takeUsage(answer.usage, event.usage);
      answer.stopReason = event.delta.stop_reason ?? answer.stopReason;
      return;
    case 'content_block_start':
      growing[event.index] = begin(event.content_block);
      return;
    case 'content_block_delta':
      grow(growing[event.index] ?? null, event.delta, observer);
      return;
    case 'content_block_stop': {
      const block = growing[event.index];
      if (block == null) return;
      block.complete = true;
      if (block.half !== '') hear(block, storableText(block.half), observer);
      return;
    }
    case 'message_stop':
      return;
  }
}

/** Some servers tell no cost. */
function takeUsage(
  usage: CallUsage,
  reported: Partial<Record<keyof CallUsage, number | null>> | null | undefined,
): void {
  for (const field of Object.keys(usage) as (keyof CallUsage)[]) {
    const value = reported?.[field];
    // The API counts up within a message: the last figure stands.
    if (typeof value === 'number') usage[field] = value;
  }
}

/** Some servers send an input whole at the start of its block, and no fragments of it. */
function startedInput(input: unknown): string[] {
  const isGiven = typeof input === 'object' && input !== null && Object.keys(input).length > 0;
  return isGiven ? [JSON.stringify(input)] : [];
}

/** Blocks of kinds that this service does not ask for (server tools, citations) are passed over. */
function begin(block: Anthropic.ContentBlock): GrowingBlock {
  switch (block.type) {
    case 'text':
      return { block: { type: 'text', text: '' }, pieces: [block.text], half: '', complete: false };
    case 'thinking':
      return {
        block: { type: 'thinking', thinking: '', signature: block.signature },
        pieces: [block.thinking],
        half: '',
        complete: false,
      };
    case 'redacted_thinking':
      return { block: { type: 'redacted_thinking', data: block.data }, pieces: [], half: '', complete: false };
    case 'tool_use':
      return {
        block: { type: 'tool_use', id: storableText(block.id), name: storableText(block.name), input: {} },
        pieces: startedInput(block.input),
        half: '',
        complete: false,
      };
    default:
      return null;
  }
}

function grow(growing: GrowingBlock, delta: Anthropic.RawContentBlockDelta, observer: StreamObserver): void {
  if (growing === null) return;
  switch (delta.type) {
    case 'text_delta':
      hear(growing, storableText(wholeCharacters(growing, delta.text)), observer);
      return;
    case 'thinking_delta':
      // Kept as it came: its signature is over these characters.
      growing.pieces.push(delta.thinking);
      hear(growing, storableText(wholeCharacters(growing, delta.thinking)), observer);
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

/** A server that cuts its text by UTF-16 units sends an emoji in two deltas, each of which alone is no text. */
function wholeCharacters(growing: NonNullable<GrowingBlock>, delta: string): string {
  const text = growing.half + delta;
  const last = text.charCodeAt(text.length - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
  growing.half = text.slice(end);
  return text.slice(0, end);
}

function hear(growing: NonNullable<GrowingBlock>, text: string, observer: StreamObserver): void {
  if (text === '') return;
  if (growing.block.type === 'thinking') observer.thinking(text);
  else if (growing.block.type === 'text') {
    growing.pieces.push(text);
    observer.text(text);
  }
}

/** Postgres and JSON.stringify recurse over a tool's input, and fail at some thousand levels. */
const MAX_INPUT_DEPTH = 100;

/** Answers that end the turn although they may hold tool uses: those were cut in two, or never to be. */
const ENDS_EARLY: ReadonlySet<Anthropic.StopReason> = new Set([
  'max_tokens',
  'model_context_window_exceeded',
  'refusal',
]);

/** The blocks of a complete answer. Tool uses of one that ended early were never asked for. */
function finished(growing: GrowingBlock[], stopReason: Anthropic.StopReason): AssistantBlock[] {
  const blocks: AssistantBlock[] = [];
  for (const one of growing) {
    if (one == null) continue;
    const { block, pieces } = one;
    const whole = pieces.join('');
    if (block.type === 'text') block.text = whole;
    else if (block.type === 'thinking') block.thinking = whole;
    else if (block.type === 'tool_use') {
      if (ENDS_EARLY.has(stopReason)) continue;
      const input = one.complete ? toolInput(whole) : null;
      if (input === null) throw new ModelStreamError('The model’s answer has a tool call that is not JSON.');
      if (isDeeperThan(MAX_INPUT_DEPTH, input)) {
        throw new ModelStreamError(`The model’s answer has a tool call nested deeper than ${MAX_INPUT_DEPTH} levels.`);
      }
      block.input = input;
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
