import type { Worker } from '@temporalio/worker';
import { expect } from 'chai';
import { keepWorking, type LeasedWorkers } from '../../activities/keep-working.js';
import { createLogger } from '../../src/platform/logger.js';
import { LeaseLostError, AbortableActivities } from '../../src/turns/running-turns.js';

/** A worker that runs until it is shut down, under a lease that the test can take away. */
function leased(workerId: string): { workers: LeasedWorkers; lose: () => void } {
  const lost = new AbortController();
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const worker = { run: () => ended, getState: () => 'RUNNING', shutdown: () => end() };
  const lease = { workerId, lost: lost.signal, drain: () => undefined, release: async () => undefined };
  return {
    workers: { lease, workers: [worker as unknown as Worker], stop: async () => undefined },
    lose: () => lost.abort(),
  };
}

describe('a process whose lease is lost', () => {
  it('a process whose lease is lost aborts its activities before it starts under a new lease', async () => {
    const [first, second] = [leased('first'), leased('second')];
    const runningTurns = new AbortableActivities();
    const { signal } = runningTurns.track('turn_1');
    const wasAborted: boolean[] = [];
    let startedAgain = (): void => undefined;
    const again = new Promise<void>((resolve) => (startedAgain = resolve));
    const start = async (): Promise<LeasedWorkers> => {
      wasAborted.push(signal.aborted);
      if (wasAborted.length === 1) return first.workers;
      startedAgain();
      return second.workers;
    };
    const working = await keepWorking(start, () => runningTurns.abandon(), createLogger('silent', 'test'));
    first.lose();
    await again;
    expect(wasAborted).to.deep.equal([false, true]);
    expect(signal.reason).to.be.instanceOf(LeaseLostError);
    expect(runningTurns.track('turn_2').signal.aborted).to.equal(false);
    await working.close();
  });
});
