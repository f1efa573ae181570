import { ApplicationFailure } from '@temporalio/common';
import { ServiceError } from '../../src/platform/errors.js';
import { modelCallSeconds, modelRetries, modelTokens } from '../../src/platform/metrics.js';
import type { Answer, CallUsage } from '../../src/models/content.js';
import { endModelCall, recordUsage } from '../../src/steps/end-model-call.js';
import type { ModelCall, ModelFailure } from '../../src/steps/model-call.js';
import type { PendingRequest } from '../../src/models/request.js';
import type { TurnDeps } from '../../src/turns/write.js';
import type { Config } from '../../src/platform/config.js';
import { withChatSpan } from './chat-span.js';
import type { ModelClient } from './clients.js';
import { describeFailure, modelFailureOf } from './failures.js';
import { streamAnswer, type StreamObserver } from './stream.js';

/** Model failures per step. Temporal's attempts do not count them: an attempt is also used up when a worker dies. */
const MAX_FAILURES = 6;
const FAILING_MS = 300_000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
const MIN_IDLE_SECONDS = 5;
/** The same delay as for the first batch of deltas. */
const RECORD_USAGE_AFTER_MS = 250;

/** Receives the answer while it streams in. `settle` runs before a failed call is recorded. */
export interface CallObserver extends Omit<StreamObserver, 'started'> {
  settle(): Promise<void>;
}

/**
 * Makes a registered model call. The usage of a failed call is recorded, too.
 * @throws ApplicationFailure either retryable, after the delay the model's API asked for, or one that ends the turn
 */
export async function callOnce(
  deps: TurnDeps & { config: Config },
  model: ModelClient,
  request: PendingRequest,
  call: ModelCall,
  observer: CallObserver,
  signal: AbortSignal,
): Promise<Answer> {
  const usage = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const answer: Answer = { content: [], stopReason: null, usage, firstTokenMs: null };
  const began = performance.now();
  const recording = new UsageRecording(deps, call, answer);
  try {
    const started = (first: CallUsage): void => recording.start(first);
    const idle = idleSeconds(deps.config.modelIdleSeconds, call);
    await withChatSpan(model, call, answer, () =>
      streamAnswer(model, request, answer, { ...observer, started }, signal, idle),
    );
    await recording.stop();
    measure(model, answer, 'ok', began);
    return answer;
  } catch (error) {
    await recording.stop();
    // If the storage is unreachable while we send an image, the model has not failed.
    const failure = signal.aborted || error instanceof ServiceError ? null : modelFailureOf(error, model.redactor);
    measure(model, answer, failure?.type ?? 'aborted', began);
    // Best effort: an unreachable database must not hide why the call failed.
    await observer.settle().catch(() => undefined);
    await endModelCall(deps, call, answer, failure).catch(() => undefined);
    if (failure === null) throw error;
    const { turnId, step } = call;
    const ids = { turn_id: turnId, step, model: model.entry.id };
    deps.log.warn({ ...ids, outcome: failure.type, ...describeFailure(error) }, 'a model call failed');
    const activityFailure = retryOrGiveUp(failure, call);
    if (activityFailure.nonRetryable !== true) modelRetries.inc({ model: model.entry.id, type: failure.type });
    throw activityFailure;
  }
}

/** Records the first usage the model reports, unless the call ends sooner: its end records the complete usage. */
class UsageRecording {
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: TurnDeps,
    private readonly call: ModelCall,
    private readonly answer: Answer,
  ) {}

  start(usage: CallUsage): void {
    this.#timer = setTimeout(() => {
      this.#underWay = recordUsage(this.deps, this.call, usage, this.answer.firstTokenMs).catch(() => undefined);
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

function measure({ entry }: ModelClient, { usage }: Answer, outcome: string, began: number): void {
  modelCallSeconds.observe({ model: entry.id, outcome }, (performance.now() - began) / 1000);
  for (const [kind, tokens] of Object.entries(usage)) {
    modelTokens.inc({ model: entry.id, kind: kind.replace('_tokens', '') }, Number(tokens));
  }
}

/** A model call that keeps failing ends the turn within 5 minutes, so the idle timeout is cut to the time left. */
function idleSeconds(setting: number, { failures, failingForMs }: ModelCall): number {
  if (failures === 0) return setting;
  return Math.min(setting, Math.max(MIN_IDLE_SECONDS, (FAILING_MS - failingForMs) / 1000));
}

function retryOrGiveUp(failure: ModelFailure, { failures, failingForMs }: ModelCall): ApplicationFailure {
  const delayMs = failure.retryAfterMs ?? Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
  const final = !failure.retryable || failures + 1 >= MAX_FAILURES || failingForMs + delayMs > FAILING_MS;
  return ApplicationFailure.create({
    message: `The model call failed (${failures + 1} of at most ${MAX_FAILURES}).`,
    type: failure.type,
    nonRetryable: final,
    nextRetryDelay: delayMs,
  });
}
