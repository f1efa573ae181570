import { ApplicationFailure } from '@temporalio/common';
import { ServiceError } from '../../src/platform/errors.js';
import { modelCallSeconds, modelCost, modelRetries, modelTokens } from '../../src/platform/metrics.js';
import { TOKEN_KINDS, type ModelAnswer } from '../../src/models/content.js';
import { endModelCall, recordUsage, NO_USAGE, type ModelCall, type ModelFailure } from '../../src/steps/model-call.js';
import { priceCall } from '../../src/models/price.js';
import { RequestOutdatedError, type PendingRequest } from '../../src/models/request.js';
import type { TurnDeps } from '../../src/turns/change-turn.js';
import type { Config } from '../../src/platform/config.js';
import { isoIn } from '../../src/platform/timestamps.js';
import type { RetryNotice } from '../../src/events/stream-schema.js';
import { withChatSpan } from './chat-span.js';
import type { ModelClient } from './clients.js';
import { describeFailure, modelFailureOf } from './failures.js';
import { retryDelay } from './retry-delay.js';
import { streamAnswer, type StreamObserver } from './stream.js';
import { ignored } from '../../src/platform/ignored.js';

/** The same delay as for the first batch of deltas. */
const RECORD_USAGE_AFTER_MS = 250;

/**
 * Receives the answer while it streams in. `retry` runs if the call will be tried again; `flush` runs before a failed
 * call is recorded.
 */
export interface CallObserver extends Omit<StreamObserver, 'started'> {
  retry(notice: RetryNotice): void;
  flush(): Promise<void>;
}

/**
 * Makes a registered model call. The usage of a failed call is recorded, too.
 * @throws RequestOutdatedError if its media were refused, or ApplicationFailure, either retryable, after the delay the model's API asked for, or one that ends the turn
 */
export async function callOnce(
  deps: TurnDeps & { config: Config },
  model: ModelClient,
  request: PendingRequest,
  call: ModelCall,
  observer: CallObserver & { retrySeconds: number },
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const answer: ModelAnswer = { content: [], stopReason: null, usage: NO_USAGE, firstTokenMs: null };
  const began = performance.now();
  const recording = new UsageRecording(deps, call, answer);
  try {
    const started = (): void => recording.start();
    await withChatSpan(model, call, answer, () =>
      streamAnswer(model, request, answer, { ...observer, started }, signal, deps.config.modelIdleSeconds),
    );
    await recording.stop();
    measure(call, answer, 'ok', began);
    return answer;
  } catch (error) {
    await recording.stop();
    // If the storage is unreachable while we send an image, the model has not failed.
    const failure =
      signal.aborted || error instanceof ServiceError ? null : modelFailureOf(error, model.redactor, request);
    measure(call, answer, failure?.type ?? 'aborted', began);
    const failingForMs = call.failures === 0 ? 0 : call.failingForMs + performance.now() - began;
    const waitMs = failure === null ? null : retryDelay(failure, { ...call, failingForMs }, observer.retrySeconds);
    const attempt = call.failures + 1;
    if (failure !== null && waitMs !== null) {
      observer.retry({ reason: failure.type, attempt, retry_at: isoIn(waitMs) });
    }
    // Best effort: an unreachable database must not hide why the call failed.
    await observer.flush().catch(ignored('why the call failed counts'));
    const ended = endModelCall(deps, call, answer, failure);
    // The next request is built by what is stored.
    if (failure?.refusedMedia !== undefined) await ended;
    else await ended.catch(ignored('why the call failed counts'));
    if (failure === null) throw error;
    const { turnId, step } = call;
    const ids = { turn_id: turnId, step, model: model.entry.id };
    deps.log.warn({ ...ids, outcome: failure.type, ...describeFailure(error) }, 'a model call failed');
    // What it refused is stored, and is no part of the next request.
    if (failure.refusedMedia !== undefined)
      throw new RequestOutdatedError('The model’s API refused images or documents of the request.');
    if (waitMs !== null) modelRetries.inc({ model: model.entry.id, type: failure.type });
    throw failureOf(failure.type, attempt, waitMs);
  }
}

/** Ends the turn, or has the call tried again after a wait. Temporal waits: no slot of a worker is held meanwhile. */
export function failureOf(type: ModelFailure['type'], attempt: number, waitMs: number | null): ApplicationFailure {
  return ApplicationFailure.create({
    message: `The model call failed (attempt ${attempt}).`,
    type,
    nonRetryable: waitMs === null,
    // Temporal does not try again after a delay of 0, which servers ask for.
    nextRetryDelay: waitMs === null ? undefined : Math.max(1, waitMs),
  });
}

/** Records the usage that is known soon after the start, unless the call ends sooner: its end records the complete usage. */
class UsageRecording {
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: TurnDeps,
    private readonly call: ModelCall,
    private readonly answer: ModelAnswer,
  ) {}

  start(): void {
    this.#timer = setTimeout(() => {
      const { usage, firstTokenMs } = this.answer;
      this.#underWay = recordUsage(this.deps, this.call, usage, firstTokenMs).catch(
        ignored('the outcome of the call records its usage'),
      );
    }, RECORD_USAGE_AFTER_MS);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#underWay;
  }
}

/** Not every server can count tokens beforehand. If the API rejects the request as too long, it is rebuilt shorter. */
export function isTooLong(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === 'context_too_long';
}

function measure({ model }: ModelCall, { usage }: ModelAnswer, outcome: string, began: number): void {
  modelCallSeconds.observe({ model: model.id, outcome }, (performance.now() - began) / 1000);
  const cost = priceCall(model, usage);
  if (cost !== null) {
    modelCost.inc({ model: model.id, currency: model.price!.currency }, Number(cost));
  }
  for (const kind of TOKEN_KINDS) {
    modelTokens.inc({ model: model.id, kind: kind.replace('_tokens', '') }, usage[kind]);
  }
}
