import { isConnectionError } from '../../src/models/api-error.js';
import { ServiceError } from '../../src/platform/errors.js';
import { ignored } from '../../src/platform/ignored.js';
import type { ModelAnswer } from '../../src/models/content.js';
import type { PendingRequest } from '../../src/models/request.js';
import type { TextObserver } from './growing-block.js';
import type { ModelClient } from './clients.js';
import { ModelAnswerError, ModelStreamError } from './failures.js';
import { GrowingAnswer } from './growing-answer.js';
import type { ModelResponse } from './model-response.js';
import { ModelEventReader, type ModelEvent } from './read-events.js';
import { UsageMeter } from './usage-meter.js';
import { Watchdog } from './watchdog.js';

export interface StreamObserver extends TextObserver {
  /** The model has accepted the call. */
  started(): void;
}

/** How long the stream of an answer is waited for, in ms. */
export interface StreamWaits {
  /** For content, while the server sends only pings or empty deltas: some models think for long and show nothing of it. */
  content: number;
  /** For `message_stop`, when the stop reason has come and every block has ended. Some gateways never send it. */
  stop: number;
  /** For the end of the response after `message_stop`: then the connection is used again, else it is closed. */
  release: number;
}

export const STREAM_WAITS: StreamWaits = { content: 1_800_000, stop: 5_000, release: 1_000 };

/** The events of an answer; everything else is a sign of life. */
const CONTENT = /^(message|content_block)_/;

/**
 * Calls the model and reads its answer as a stream. `answer` is filled while it streams in, so that the caller has the
 * usage of a failed call. Every byte restarts the idle timeout, also a ping. docs/models.md says what is accepted of
 * servers that do not keep to the Messages API.
 * @throws ModelIdleTimeoutError, ModelStreamError, ModelAnswerError, the SDK's APIError, or the abort reason of `signal`
 */
export async function streamAnswer(
  { api, redactor }: Pick<ModelClient, 'api' | 'redactor'>,
  request: PendingRequest,
  answer: ModelAnswer,
  observer: StreamObserver,
  signal: AbortSignal,
  idleSeconds: number,
  waits = STREAM_WAITS,
): Promise<void> {
  const began = performance.now();
  const watchdog = new Watchdog(idleSeconds);
  const meter = new UsageMeter(request.inputTokens);
  const growing = new GrowingAnswer(observer, redactor);
  const either = AbortSignal.any([signal, watchdog.signal]);
  const reader = new ModelEventReader();
  let isMessage = false;
  let isReleased = false;
  // A model that has given its stop reason does not think any more.
  const waitFor = ({ isWhole, stopReason }: GrowingAnswer): number =>
    isWhole ? waits.stop : stopReason === null ? waits.content : idleSeconds * 1000;
  const take = (events: ModelEvent[], headers: Headers): void => {
    const wasMessage = isMessage;
    const before = growing.progress;
    try {
      for (const event of events) {
        if (event.type === 'error') throw new ModelAnswerError(event.body, headers);
        meter.add(event);
        if (CONTENT.test(event.type)) {
          if (!isMessage) observer.started();
          isMessage = true;
        }
        growing.take(event);
        if (growing.isStopped) break;
      }
    } finally {
      answer.usage = meter.usage;
      answer.stopReason = growing.stopReason;
    }
    if (growing.characters > 0) answer.firstTokenMs ??= performance.now() - began;
    const goesOn = growing.progress > before || !wasMessage;
    if (isMessage && goesOn && !growing.isStopped) watchdog.awaitContent(waitFor(growing));
  };
  try {
    const response = await watchdog.watch(() =>
      api.messages.create({ ...request.take(), stream: true }, { signal: either }).asResponse(),
    );
    watchdog.awaitContent(waits.content);
    const { headers } = response;
    let stop = (): void => undefined;
    const stopped = new Promise<void>((resolve) => (stop = resolve));
    const ended = (response as unknown as ModelResponse)
      .read((chunk) => {
        if (growing.isStopped) return;
        take(reader.push(chunk), headers);
        if (growing.isStopped) stop();
      })
      .then(() => {
        if (!growing.isStopped) take(reader.end(), headers);
      })
      .catch((error: unknown) => {
        // The connection broke, or the server reported an error, after a whole message.
        if (!growing.isWhole || signal.aborted) throw error;
      });
    await Promise.race([stopped, ended]);
    signal.throwIfAborted();
    if (!isMessage) throw new ModelStreamError('The model’s server sent no event of the Messages API.');
    isReleased = growing.isStopped;
    if (isReleased) void release(ended, watchdog, waits.release);
    answer.content = growing.finish();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ModelStreamError) throw error;
    watchdog.signal.throwIfAborted();
    // The SDK wraps what `send` throws.
    if (isConnectionError(error) && error.cause instanceof ServiceError) throw error.cause;
    throw error;
  } finally {
    watchdog.stop();
    if (!isReleased) watchdog.abort();
  }
}

/** Waits for the end of a response, so that its connection can be used again, and ends the request in any case. */
async function release(ended: Promise<void>, watchdog: Watchdog, ms: number): Promise<void> {
  const timer = setTimeout(() => watchdog.abort(), ms);
  await ended.catch(ignored('the answer is complete'));
  clearTimeout(timer);
  watchdog.abort();
}
