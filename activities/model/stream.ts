import { AsyncLocalStorage } from 'node:async_hooks';
import type Anthropic from '@anthropic-ai/sdk';
import { APIConnectionError } from '@anthropic-ai/sdk';
import { ServiceError } from '../../src/platform/errors.js';
import type { Redactor } from '../../src/platform/text.js';
import type { Answer, CallUsage } from '../../src/turns/content.js';
import { begin, complete, finished, grow, type GrowingBlock, type TextObserver } from './growing-block.js';
import type { ModelClient } from './clients.js';
import type { SendRequest } from './send.js';
import { ModelIdleTimeoutError, ModelStreamError } from './failures.js';

export interface StreamObserver extends TextObserver {
  /** The model has taken the call; what it will cost so far. */
  started(usage: CallUsage): void;
}

/**
 * Calls the model and reads its answer as a stream. `answer` is filled while it comes in, so that a caller whose call
 * broke off knows what it cost. Every byte restarts the watchdog: a ping is a sign of life.
 * @throws ModelIdleTimeoutError, ModelStreamError, the SDK's APIError, or what aborted `signal`
 */
export async function streamAnswer(
  { api, redactor }: ModelClient,
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
    const stream = await watchdogs.run(watchdog, () =>
      api.messages.create({ ...params, stream: true }, { signal: either }),
    );
    const growing: GrowingBlock[] = [];
    let stopped = false;
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && answer.firstTokenMs === null) {
        answer.firstTokenMs = performance.now() - began;
      }
      stopped ||= event.type === 'message_stop';
      take(event, answer, growing, observer, redactor);
    }
    watchdog.signal.throwIfAborted();
    signal.throwIfAborted();
    if (!stopped || answer.stopReason === null) throw new ModelStreamError('The model’s answer broke off.');
    answer.content = finished(growing, answer.stopReason as Anthropic.StopReason, redactor);
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

/** The watchdog of the call that a request belongs to: a client of the SDK for each call would cost half a millisecond. */
const watchdogs = new AsyncLocalStorage<Watchdog>();

/** `fetch` for a client of the SDK: every byte of a streamed answer restarts the watchdog of its call. */
export function watchedFetch(send: SendRequest): typeof fetch {
  return (url, init) => {
    const watchdog = watchdogs.getStore();
    return watchdog === undefined ? send(url, init) : sendWatched(send, url, init, watchdog);
  };
}

async function sendWatched(
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
  redactor: Redactor,
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
      growing[event.index] = begin(event.content_block, redactor);
      return;
    case 'content_block_delta':
      grow(growing[event.index] ?? null, event.delta, observer, redactor);
      return;
    case 'content_block_stop':
      complete(growing[event.index] ?? null, observer, redactor);
      return;
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
