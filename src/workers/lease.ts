import { Worker } from 'node:worker_threads';
import type { Logger } from '../platform/logger.js';
import type { LeaseOrder, LeaseReport, LeaseThreadData } from './lease-thread.js';

const PULSE_INTERVAL_MS = 500;
/** Threads run compiled code. Tests run the sources but use the thread of `npm run build`. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/src/workers/lease-thread.js' : './lease-thread.js',
  import.meta.url,
);

/** The lease shows other processes that this worker is alive. Its id is the worker's identity in Temporal. */
export interface WorkerLease {
  readonly workerId: string;
  /** Resolves when the lease cannot be renewed any more: the activities of this worker are, or soon will be, reassigned. */
  readonly lost: Promise<void>;
  /** Records that this worker takes no more work. */
  drain(): void;
  /** Releases the lease. Call it when no activity is running. */
  release(): Promise<void>;
}

/**
 * Takes the lease of a worker; waits until Postgres has stored it. A thread renews it on a connection of its own, so that
 * neither a busy event loop nor a busy pool ends the lease of a healthy worker.
 */
export async function takeWorkerLease(
  { workerId, ...place }: Omit<LeaseThreadData, 'pulse'>,
  log: Logger,
): Promise<WorkerLease> {
  const pulse = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const beats = new Int32Array(pulse);
  const beat = setInterval(() => Atomics.add(beats, 0, 1), PULSE_INTERVAL_MS).unref();
  const thread = new Worker(THREAD, { workerData: { workerId, ...place, pulse } satisfies LeaseThreadData });
  const order = (message: LeaseOrder): void => thread.postMessage(message);
  let isReleased = false;
  let lose!: () => void;
  const lost = new Promise<void>((resolve) => (lose = resolve));
  const taken = new Promise<void>((resolve) => {
    thread.on('message', (report: LeaseReport) => {
      if (report.kind === 'taken') resolve();
      else if (report.kind === 'lost') lose();
      else log.warn({ err: report.error, worker_id: workerId }, 'the lease could not be renewed; trying again');
    });
  });
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve())).then(() => {
    clearInterval(beat);
    if (!isReleased) lose();
  });
  thread.on('error', (err) => log.error({ err, worker_id: workerId }, 'the thread that renews the lease failed'));
  const endedEarly = ended.then(() => Promise.reject(new Error('The lease of the worker could not be taken.')));
  await Promise.race([taken, endedEarly]);
  thread.unref();
  return {
    workerId,
    lost,
    drain: () => order('drain'),
    async release() {
      isReleased = true;
      order('release');
      await ended;
    },
  };
}
