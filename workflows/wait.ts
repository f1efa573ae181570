import { condition, defineSignal, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { StepOutcome } from '../src/steps/model-step.js';
import type { TurnActivities } from '../activities/turn/turn-activities.js';
import { ANSWERED_SIGNAL } from './contract.js';
import type { WaitsFor } from './waits-for.js';

const { advanceWait, advanceBudget } = proxyLocalActivities<TurnActivities>({
  startToCloseTimeout: '5 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});
const answered = defineSignal(ANSWERED_SIGNAL);

export function countSignals(onSignal: () => void): { received: number } {
  const signals = { received: 0 };
  setHandler(answered, () => {
    signals.received += 1;
    onSignal();
  });
  return signals;
}

/** A step whose tool calls wait for answers. */
interface Wait {
  signals: { received: number };
  place: { turnId: string; step: number };
  /** Sets what is left of the turn's time, against which a wait does not count. */
  setRemaining: (ms: number) => void;
  /** Runs or closes calls of the step. Returns those that wait now until the session's user has authorized their servers. */
  call: (indices: number[]) => Promise<number[]>;
  /** Shows the open calls in the workflow's current details. */
  show: (open: number[]) => void;
  waitsFor: WaitsFor;
}

/**
 * Waits until every call of the step is closed. A call runs as soon as its answer arrives; no activity runs while the
 * turn waits. A signal or timer only triggers a read: the turn's rows decide what happens next.
 */
export async function waitForAnswers(wait: Wait): Promise<'closed' | 'ended'> {
  const taken = new Set<number>();
  const work: Promise<void>[] = [];
  const state = { failed: false, waitsAgain: false };
  const start = (indices: number[]): void => {
    for (const index of indices) taken.add(index);
    const calls = wait.call(indices).then((again) => {
      for (const index of again) taken.delete(index);
      if (again.length > 0) state.waitsAgain = true;
    });
    calls.catch(() => (state.failed = true));
    work.push(calls);
  };
  try {
    for (;;) {
      const seen = wait.signals.received;
      state.waitsAgain = false;
      const step = await advanceWait(wait.place);
      if (step === null) return 'ended';
      wait.setRemaining(step.remainingMs);
      const ready = step.ready.filter((index) => !taken.has(index));
      if (ready.length > 0) start(ready);
      if (step.open.length === 0) {
        await Promise.all(work);
        if (state.waitsAgain) continue;
        break;
      }
      wait.show(step.open);
      wait.waitsFor.answer(true);
      await condition(() => wait.signals.received > seen || state.failed || state.waitsAgain, step.expiresInMs);
      if (state.failed) break;
    }
    await Promise.all(work);
  } finally {
    // After a cancel request the running calls end first.
    await Promise.allSettled(work);
  }
  wait.waitsFor.answer(false);
  return 'closed';
}

/** A step whose model call waits for a larger budget. */
interface BudgetWait extends Pick<Wait, 'signals' | 'place' | 'setRemaining' | 'waitsFor'> {
  show: () => void;
}

/** Waits until the budget changes, as `waitForAnswers` waits for answers. */
export async function waitForBudget(wait: BudgetWait): Promise<'over' | StepOutcome> {
  for (;;) {
    const seen = wait.signals.received;
    const step = await advanceBudget(wait.place);
    if (step.kind === 'ended') return step;
    wait.setRemaining(step.remainingMs);
    if (step.kind === 'over') break;
    wait.show();
    wait.waitsFor.answer(true);
    await condition(() => wait.signals.received > seen, Math.max(1, step.expiresInMs));
  }
  wait.waitsFor.answer(false);
  return 'over';
}
