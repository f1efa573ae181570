import { once } from 'node:events';
import type { Worker } from '@temporalio/worker';
import pRetry from 'p-retry';
import type { Logger } from '../src/platform/logger.js';
import { workerLeasesLost } from '../src/platform/metrics.js';
import type { WorkerLease } from '../src/workers/lease.js';
import { ignored } from '../src/platform/ignored.js';

/** Workers of this process that share a lease and an identity. */
export interface LeasedWorkers {
  lease: WorkerLease;
  workers: Worker[];
  /** Stops what starts work for them. */
  stop: () => Promise<void>;
}

/** The workers of this process, whatever lease they have. */
interface WorkingProcess {
  /** Rejects when a worker stops on its own. */
  failed: Promise<never>;
  /** Takes no new work, waits for running activities, and gives the lease back. */
  close(): Promise<void>;
}

/**
 * Runs workers until `close`. When their lease is lost, other workers continue their activities: this process abandons
 * them, and new workers start under a new lease.
 */
export async function keepWorking(
  start: () => Promise<LeasedWorkers>,
  abandonActivities: () => void,
  log: Logger,
): Promise<WorkingProcess> {
  let isClosing = false;
  const drains: Promise<void>[] = [];
  let current = run(await start());

  const work = async (): Promise<void> => {
    for (;;) {
      const { lease, ended, shutDown } = current;
      await Promise.race([ended, onceAborted(lease.lost)]);
      if (isClosing || !lease.lost.aborted) return ended;
      workerLeasesLost.inc();
      log.error(
        { worker_id: lease.workerId },
        'this worker has lost its lease: its activities go to other workers, and it continues under a new lease',
      );
      abandonActivities();
      drains.push(shutDown());
      const started = await pRetry(start, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 250,
        maxTimeout: 3000,
        shouldRetry: () => !isClosing,
        onFailedAttempt: ({ error }) => log.warn({ err: error }, 'the worker could not start again, trying again'),
      }).catch((error: unknown) => {
        if (!isClosing) throw error;
        return null;
      });
      if (started === null) return;
      current = run(started);
      if (isClosing) return current.shutDown();
    }
  };
  const worked = work();
  const failed = worked.then(() => new Promise<never>(() => undefined));
  failed.catch(ignored('who waits for it has the error'));
  return {
    failed,
    async close() {
      isClosing = true;
      await Promise.all([current.shutDown(), ...drains]);
      await worked.catch(ignored('`failed` has the error'));
    },
  };
}

function run({ lease, workers, stop }: LeasedWorkers): {
  lease: WorkerLease;
  ended: Promise<void>;
  shutDown: () => Promise<void>;
} {
  const runs = workers.map((worker) => worker.run());
  const ended = Promise.all(runs).then(() => undefined);
  ended.catch(ignored('who waits for it has the error'));
  return {
    lease,
    ended,
    shutDown: async () => {
      lease.drain();
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await stop();
      await Promise.allSettled(runs);
      await lease.release();
    },
  };
}

async function onceAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
