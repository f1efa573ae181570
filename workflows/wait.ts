import {
  condition,
  defineSignal,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { AdvancedWait } from '../activities/turn/turn-activities.js';
import { ANSWERED_SIGNAL, SEARCH_ATTRIBUTES } from './contract.js';

const WAITS_FOR = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waitsFor, 'KEYWORD');
const answered = defineSignal(ANSWERED_SIGNAL);

/** Counts the signals of this run. */
export function countSignals(): { received: number } {
  const signals = { received: 0 };
  setHandler(answered, () => void (signals.received += 1));
  return signals;
}

/** A step whose calls wait for answers. */
export interface Wait {
  signals: { received: number };
  /** Reads where the step stands; null when the turn has ended. */
  advance: () => Promise<AdvancedWait | null>;
  /** Runs or closes calls of the step. */
  call: (indices: number[]) => Promise<void>;
  /** What current details show of the open calls. */
  describe: (open: number[]) => string;
  searchable: boolean;
  /** False in a run that waits already: it stays until the wait is over. */
  mayContinue: boolean;
}

/**
 * Waits until every call of the step is closed. A call runs as soon as its answer comes. No activity runs meanwhile, and
 * the turn's rows decide what each wake-up means: a signal says no more than that there is something to read.
 * Returns `long` when the rest of the wait should go on in another run.
 */
export async function waitForAnswers(wait: Wait): Promise<'closed' | 'ended' | 'long'> {
  const taken = new Set<number>();
  const work: Promise<void>[] = [];
  const state = { active: 0, failed: false };
  const start = (indices: number[]): void => {
    for (const index of indices) taken.add(index);
    state.active += 1;
    const calls = wait.call(indices).finally(() => (state.active -= 1));
    calls.catch(() => (state.failed = true));
    work.push(calls);
  };
  try {
    for (;;) {
      const seen = wait.signals.received;
      const step = await wait.advance();
      if (step === null) return 'ended';
      const ready = step.ready.filter((index) => !taken.has(index));
      if (ready.length > 0) start(ready);
      if (step.open.length === 0) break;
      setCurrentDetails(wait.describe(step.open));
      if (wait.searchable) setWaitsFor('answer');
      const pauseMs = wait.mayContinue ? Math.min(step.expiresInMs, step.longWaitMs) : step.expiresInMs;
      const awoken = await condition(() => wait.signals.received > seen || state.failed, pauseMs);
      if (state.failed) break;
      if (!awoken && state.active === 0 && pauseMs < step.expiresInMs) return 'long';
    }
    await Promise.all(work);
  } finally {
    // After a cancel request: the calls under way end first.
    await Promise.allSettled(work);
  }
  if (wait.searchable) setWaitsFor(null);
  return 'closed';
}

function setWaitsFor(value: 'answer' | null): void {
  const current = workflowInfo().typedSearchAttributes.get(WAITS_FOR) ?? null;
  if (current !== value) upsertSearchAttributes([{ key: WAITS_FOR, value }]);
}
