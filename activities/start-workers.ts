import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { NativeConnection, Worker } from '@temporalio/worker';
import type { Database } from '../src/db/db.js';
import type { ModelCatalogue } from '../src/models/catalogue.js';
import type { GuardedNetwork } from '../src/network/network.js';
import type { TurnEngine } from '../src/engine.js';
import { ignored } from '../src/platform/ignored.js';
import { observeSlots } from '../src/platform/slot-metrics.js';
import { takeWorkerLease, type WorkerLease } from '../src/workers/lease.js';
import { temporalSettings } from '../src/temporal/connection.js';
import type { TemporalTracing } from '../src/temporal/tracing.js';
import { ActivitySlots } from './activity-slots.js';
import type { ActivityDeps } from './deps.js';
import { createActivities } from './index.js';
import { createErasureActivities } from './erasures/index.js';
import { createMaintenanceActivities } from './maintenance/index.js';
import { createScheduleActivities } from './schedules/fire.js';
import { createScheduleWorker } from './schedules/worker.js';
import { startDeliveries } from './webhooks/worker.js';
import { createTurnWorker, sharedOptions } from './worker-options.js';

interface ProcessParts {
  parts: Omit<ActivityDeps, 'workerId' | 'workflows' | 'activitySlots' | 'toolSources'>;
  backgroundPool: Database;
  catalogue: ModelCatalogue;
  network: GuardedNetwork;
  connection: NativeConnection;
  tracing: TemporalTracing | null;
  engine: Pick<TurnEngine, 'workflows' | 'searchable'>;
}

/** The workers of this process. They share a lease, and its id is their identity in Temporal. */
interface RunningWorkers {
  /**
   * Rejects when a worker stops on its own, or when the lease is lost: other workers then continue the activities of this process.
   * The process must exit at once, because what its activities still send to models and tools would be sent twice.
   */
  failed: Promise<never>;
  /** Takes no new work, waits for running activities, and releases the lease. */
  close(): Promise<void>;
}

/** Takes a lease and starts the workers of turns, schedules and deliveries. A process does so once. */
export async function startWorkers({
  parts,
  backgroundPool,
  catalogue,
  network,
  connection,
  tracing,
  engine: { workflows, searchable },
}: ProcessParts): Promise<RunningWorkers & { startDeliveries: () => void }> {
  const { config, db, log, storage, notifier } = parts;
  const { databaseListenUrl: databaseUrl, taskQueue } = config;
  // Temporal's default identity plus a random part, because process ids are reused.
  const workerId = `${process.pid}@${hostname()}-${randomUUID()}`;
  const { namespace } = temporalSettings();
  const lease = await takeWorkerLease({ workerId, databaseUrl, namespace, taskQueue }, log);
  const shared = sharedOptions(config, { connection, identity: workerId, tracing });
  const activitySlots = new ActivitySlots(config.workerMaxActivities);
  const deps = { ...parts, workflows, workerId, activitySlots };
  try {
    const activities = {
      ...createActivities(deps),
      ...createMaintenanceActivities({ config, db: backgroundPool, log, storage }),
      ...createErasureActivities({
        config,
        db: backgroundPool,
        log,
        notifier,
        storage,
        mcpNetwork: network,
        workflows,
      }),
    };
    const worker = await createTurnWorker(shared, config, activities, activitySlots);
    const firing = { config, db, log, notifier, models: catalogue, workflows };
    const schedules = await createScheduleWorker(
      shared,
      taskQueue,
      createScheduleActivities({ ...firing, catchupSeconds: config.scheduleCatchupSeconds }),
    );
    const deliveries = config.webhookDeliveries
      ? await startDeliveries(shared, searchable, { config, db, backgroundPool, log, network })
      : null;
    const stopObserving = observeSlots(activitySlots);
    const workers = [worker, schedules, ...(deliveries === null ? [] : [deliveries.worker])];
    const stop = async (): Promise<void> => {
      await deliveries?.reconciler.stop();
      stopObserving();
    };
    return { ...runUnderLease(lease, workers, stop), startDeliveries: () => deliveries?.reconciler.startSoon() };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** @param stop stops what starts work for the workers */
export function runUnderLease(lease: WorkerLease, workers: Worker[], stop: () => Promise<void>): RunningWorkers {
  const runs = workers.map((worker) => worker.run());
  const lost = lease.lost.then(() => {
    throw new Error('its worker has lost its lease, and other workers continue its activities');
  });
  const failed = Promise.race([lost, Promise.all(runs)]).then(() => new Promise<never>(() => undefined));
  failed.catch(ignored('who waits for it has the error'));
  return {
    failed,
    async close() {
      lease.drain();
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await stop();
      await Promise.allSettled(runs);
      await lease.release();
    },
  };
}
