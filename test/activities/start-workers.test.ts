import type { Worker } from '@temporalio/worker';
import { expect } from 'chai';
import { runUnderLease } from '../../activities/start-workers.js';
import { failureOf } from '../support/failure.js';

/** A worker and its lease; what happens to them is in `happened`. The worker's activities end when the test lets them. */
function leasedWorker() {
  const happened: string[] = [];
  let lose!: () => void;
  let endActivities!: () => void;
  let stopByItself!: (error: Error) => void;
  const lost = new Promise<void>((resolve) => (lose = resolve));
  const run = new Promise<void>((resolve, reject) => {
    endActivities = () => {
      happened.push('activities end');
      resolve();
    };
    stopByItself = reject;
  });
  const worker = { run: () => run, getState: () => 'RUNNING', shutdown: () => happened.push('shutdown') };
  const lease = {
    ...{ workerId: 'worker', lost },
    drain: () => void happened.push('drain'),
    release: async () => void happened.push('release'),
  };
  const stop = async (): Promise<void> => void happened.push('stop');
  return {
    ...{ happened, lose, endActivities, stopByItself },
    running: runUnderLease(lease, [worker as unknown as Worker], stop),
  };
}

describe('the workers of a process', () => {
  it('the workers of a process fail when their lease is lost, while their activities still run', async () => {
    const { running, lose, happened } = leasedWorker();
    lose();
    expect(await failureOf(running.failed))
      .to.have.property('message')
      .that.includes('lost its lease');
    expect(happened).to.deep.equal([]);
  });

  it('the workers of a process fail with the error of one that stops on its own', async () => {
    const { running, stopByItself } = leasedWorker();
    stopByItself(new Error('no more polls'));
    expect(await failureOf(running.failed)).to.have.property('message', 'no more polls');
  });

  it('the workers of a process keep their lease until the last activity has ended, when they are closed', async () => {
    const { running, endActivities, happened } = leasedWorker();
    const closed = running.close();
    // Everything that could happen before the activities end has happened then.
    await new Promise((resolve) => setImmediate(resolve));
    endActivities();
    await closed;
    expect(happened).to.deep.equal(['drain', 'shutdown', 'stop', 'activities end', 'release']);
  });
});
