import { condition, defineSignal, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { StepOutcome } from '../src/steps/model-step.js';
import type { AdvancedStep, TurnActivities } from '../activities/turn/turn-activities.js';
import { ANSWERED_SIGNAL } from './contract.js';
import type { WaitsFor } from './waits-for.js';

const { advanceStep } = proxyLocalActivities<TurnActivities>({
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

/** A step whose model call or whose tool calls wait. */
interface Wait {
  signals: { received: number };
  place: Parameters<TurnActivities['advanceStep']>[0];
  /** Sets what is left of the turn's time, against which a wait does not count. */
  setRemaining: (ms: number) => void;
  /** Runs or closes calls of the step. Returns those that wait again. */
  call: (indices: number[]) => Promise<number[]>;
  /** Shows in the workflow's current details what waits. */
  show: (open: number[], children: AdvancedStep['children']) => void;
  waitsFor: WaitsFor;
}

/**
 * Waits until nothing of the step waits any more, and its calls are done. A call runs as soon as its wait has ended; no activity
 * runs while the turn waits. A signal or timer only triggers a read: the turn's rows decide what happens next. Returns how the turn
 * has ended, if a wait has ended it.
 */
export async function waitForStep(wait: Wait): Promise<Extract<StepOutcome, { kind: 'ended' }> | null> {
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
      const step = await advanceStep(wait.place);
      if (step.kind === 'ended') return step;
      wait.setRemaining(step.remainingMs);
      const ready = step.ready.filter((index) => !taken.has(index));
      if (ready.length > 0) start(ready);
      if (step.open.length === 0 && !step.modelWaits) {
        await Promise.all(work);
        if (state.waitsAgain) continue;
        break;
      }
      const { children } = step;
      wait.show(step.open, children);
      wait.waitsFor.answer(step.modelWaits || step.open.length > (children?.calls ?? 0));
      wait.waitsFor.child(children !== undefined);
      const isDue = (): boolean => wait.signals.received > seen || state.failed || state.waitsAgain;
      await condition(isDue, Math.max(1, step.expiresInMs));
      if (state.failed) break;
    }
    await Promise.all(work);
  } finally {
    // After a cancel request the running calls end first.
    await Promise.allSettled(work);
  }
  wait.waitsFor.answer(false);
  wait.waitsFor.child(false);
  return null;
}
