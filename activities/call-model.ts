import { ApplicationFailure } from '@temporalio/common';
import pRetry from 'p-retry';
import { isDatabaseAway } from '../src/db/transaction.js';
import { DeltaWriter } from '../src/events/delta-writer.js';
import { TurnEndedError } from '../src/turns/lock.js';
import type { ActivityDeps } from './deps.js';
import { beginAttempt, endAttempt, type ModelAttempt } from './models/attempts.js';
import { buildRequest, type BuiltRequest } from './models/build-request.js';
import { modelFailureOf, type ModelFailure } from './models/failures.js';
import { storedOutcome, storeStep } from './models/store-step.js';
import { streamAnswer, type Answer } from './models/stream.js';
import { runActivity } from './run-activity.js';
import { loadTurn } from './turn-context.js';
import type { StepOutcome, TurnActivities } from './turn-activities.js';

/** The model's own failures at one step (temporal.md): attempts are no budget, a dead worker uses them up too. */
const MOST_FAILURES = 6;
const FAILING_MS = 300_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
const SHORTEST_IDLE_SECONDS = 5;

/**
 * One step of a turn: calls the model, streams what comes in, stores the outcome. Run again after its commit, it finds
 * the outcome and returns it.
 */
export function callModel(deps: ActivityDeps): TurnActivities['callModel'] {
  return ({ turnId, step, compacted }) =>
    runActivity(deps.log, async (signal): Promise<StepOutcome> => {
      const stored = await storedOutcome(deps.db, turnId, step);
      if (stored !== null) return stored;
      const turn = await loadTurn(deps.db, turnId);
      const built = await buildRequest(deps, turn, compacted);
      if (built === 'compact') return { kind: 'compact' };
      const attempt = await beginAttempt(deps.db, turnId, step);
      return attemptCall(deps, built, attempt, signal);
    });
}

async function attemptCall(
  deps: ActivityDeps,
  { model, request, tools }: BuiltRequest,
  attempt: ModelAttempt,
  cancelled: AbortSignal,
): Promise<StepOutcome> {
  const { db, notifier, config } = deps;
  const fenced = new AbortController();
  const writer = new DeltaWriter(attempt, db, notifier, () => fenced.abort(new TurnEndedError(attempt.turnId)));
  const observer = {
    text: (content: string) => writer.write('agent.message.delta', content),
    thinking: (content: string) => writer.write('agent.thinking.delta', content),
  };
  const answer = emptyAnswer();
  try {
    const signal = AbortSignal.any([cancelled, fenced.signal]);
    await streamAnswer(model, request, answer, observer, signal, idleSeconds(config.modelIdleSeconds, attempt));
  } catch (error) {
    await writer.flush().catch(() => undefined);
    const failure = cancelled.aborted ? null : modelFailureOf(error);
    await endAttempt(db, attempt, answer, failure).catch(() => undefined);
    throw failure === null ? error : retryOrGiveUp(failure, attempt);
  }
  // The answer is paid for: what keeps it from the tables is tried again here, not by buying another one.
  return pRetry(
    async () => {
      await writer.flush();
      return storeStep(db, notifier, {
        attempt,
        answer,
        toolName: (alias) => tools.aliases.toFull(alias) ?? alias,
        isLast: attempt.step >= config.maxSteps,
      });
    },
    {
      retries: 1000,
      minTimeout: 100,
      maxTimeout: 2000,
      signal: cancelled,
      shouldRetry: ({ error }) => isDatabaseAway(error),
    },
  );
}

function emptyAnswer(): Answer {
  const usage = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  return { content: [], stopReason: null, usage, firstTokenMs: null };
}

/** A model call that keeps failing ends the turn within 5 minutes: silence is waited for only as long as that allows. */
function idleSeconds(setting: number, { failures, failingForMs }: ModelAttempt): number {
  if (failures === 0) return setting;
  return Math.min(setting, Math.max(SHORTEST_IDLE_SECONDS, (FAILING_MS - failingForMs) / 1000));
}

function retryOrGiveUp(failure: ModelFailure, { failures, failingForMs }: ModelAttempt): ApplicationFailure {
  const delayMs = failure.retryAfterMs ?? Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
  const final = !failure.retryable || failures + 1 >= MOST_FAILURES || failingForMs + delayMs > FAILING_MS;
  return ApplicationFailure.create({
    message: `The model call failed (${failures + 1} of at most ${MOST_FAILURES}).`,
    type: failure.type,
    nonRetryable: final,
    nextRetryDelay: delayMs,
  });
}
