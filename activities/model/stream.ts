import type Anthropic from '@anthropic-ai/sdk';
import { isConnectionError } from '../../src/models/api-error.js';
import { ServiceError } from '../../src/platform/errors.js';
import type { Redactor } from '../../src/platform/redactor.js';
import { MIB } from '../../src/platform/units.js';
import type { Answer, CallUsage } from '../../src/models/content.js';
import type { PendingRequest } from '../../src/models/request.js';
import { begin, complete, finished, grow, type GrowingBlock, type TextObserver } from './growing-block.js';
import type { ModelClient } from './clients.js';
import { ModelStreamError } from './failures.js';
import { Watchdog } from './watchdog.js';

/** The estimate for an answer that was cut off: the model reports its output tokens at the end. */
const CHARACTERS_PER_TOKEN = 4;
/** Eight times what a model writes in 128,000 tokens. */
const MAX_CHARACTERS = 4 * MIB;
/** Each tool call is an event, a row and an activity. */
const MAX_BLOCKS = 1000;

export interface StreamObserver extends TextObserver {
  /** The model has accepted the call and reports its first usage. */
  started(usage: CallUsage): void;
}

/**
 * Calls the model and reads its answer as a stream. `answer` is filled while it streams in, so that the caller has the
 * usage of a failed call. Every byte restarts the idle timeout, also a ping.
 * @throws ModelIdleTimeoutError, ModelStreamError, the SDK's APIError, or the abort reason of `signal`
 */
export async function streamAnswer(
  { api, redactor }: Pick<ModelClient, 'api' | 'redactor'>,
  request: PendingRequest,
  answer: Answer,
  observer: StreamObserver,
  signal: AbortSignal,
  idleSeconds: number,
): Promise<void> {
  const began = performance.now();
  const watchdog = new Watchdog(idleSeconds);
  let streamedCharacters = 0;
  const either = AbortSignal.any([signal, watchdog.signal]);
  try {
    const stream = await watchdog.watch(() =>
      api.messages.create({ ...request.take(), stream: true }, { signal: either }),
    );
    // By the index that the model gives them, which may be any number.
    const growing = new Map<number, GrowingBlock>();
    let stopped = false;
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && answer.firstTokenMs === null) {
        answer.firstTokenMs = performance.now() - began;
      }
      if (event.type === 'content_block_delta') streamedCharacters += lengthOf(event.delta);
      if (streamedCharacters > MAX_CHARACTERS) throw new ModelStreamError('The model’s answer is too long.');
      stopped ||= event.type === 'message_stop';
      take(event, answer, growing, observer, redactor);
      if (growing.size > MAX_BLOCKS)
        throw new ModelStreamError(`The model’s answer has more than ${MAX_BLOCKS} blocks.`);
    }
    watchdog.signal.throwIfAborted();
    signal.throwIfAborted();
    if (!stopped || answer.stopReason === null) throw new ModelStreamError('The model’s answer was cut off.');
    answer.content = finished(growing.values(), answer.stopReason as Anthropic.StopReason, redactor);
  } catch (error) {
    const { usage } = answer;
    if (answer.stopReason === null) {
      usage.output_tokens = Math.max(usage.output_tokens, Math.ceil(streamedCharacters / CHARACTERS_PER_TOKEN));
    }
    watchdog.signal.throwIfAborted();
    signal.throwIfAborted();
    // The SDK wraps what `send` throws.
    if (isConnectionError(error) && error.cause instanceof ServiceError) throw error.cause;
    throw error;
  } finally {
    watchdog.stop();
  }
}

function lengthOf(delta: Anthropic.RawContentBlockDelta): number {
  if (delta.type === 'text_delta') return delta.text.length;
  if (delta.type === 'thinking_delta') return delta.thinking.length;
  return delta.type === 'input_json_delta' ? delta.partial_json.length : 0;
}

function take(
  event: Anthropic.RawMessageStreamEvent,
  answer: Answer,
  growing: Map<number, GrowingBlock>,
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
      growing.set(event.index, begin(event.content_block, redactor));
      return;
    case 'content_block_delta':
      grow(growing.get(event.index) ?? null, event.delta, observer, redactor);
      return;
    case 'content_block_stop':
      complete(growing.get(event.index) ?? null, observer, redactor);
      return;
    case 'message_stop':
      return;
  }
}

/** Some servers report no usage. */
function takeUsage(
  usage: CallUsage,
  reported: Partial<Record<keyof CallUsage, number | null>> | null | undefined,
): void {
  for (const field of Object.keys(usage) as (keyof CallUsage)[]) {
    const value = reported?.[field];
    // The API's counts are cumulative within a message: the last one is the total.
    if (Number.isSafeInteger(value) && value! >= 0) usage[field] = value!;
  }
}
