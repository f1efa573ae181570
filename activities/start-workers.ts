import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { NativeConnection } from '@temporalio/worker';
import type { DataSource } from 'typeorm';
import type { ModelCatalogue } from '../src/models/catalogue.js';
import type { GuardedNetwork } from '../src/network/network.js';
import type { TurnEngine } from '../src/engine.js';
import { observeSlots } from '../src/platform/slot-metrics.js';
import { takeWorkerLease } from '../src/workers/lease.js';
import { temporalSettings } from '../src/temporal/connection.js';
import type { TemporalTracing } from '../src/temporal/tracing.js';
import { ActivitySlots } from './activity-slots.js';
import type { ActivityDeps } from './deps.js';
import { createActivities } from './index.js';
import type { LeasedWorkers } from './keep-working.js';
import { createMaintenanceActivities } from './maintenance/index.js';
import { createScheduleActivities } from './schedules/fire.js';
import { createScheduleWorker } from './schedules/worker.js';
import { startDeliveries } from './webhooks/worker.js';
import { createTurnWorker, sharedOptions } from './worker-options.js';

interface ProcessParts {
  /** What the activities of each lease share. */
  parts: Omit<ActivityDeps, 'workerId' | 'workflows' | 'activitySlots'>;
  backgroundPool: DataSource;
  catalogue: ModelCatalogue;
  network: GuardedNetwork;
  connection: NativeConnection;
  tracing: TemporalTracing | null;
  reconciler: Pick<TurnEngine, 'workflows' | 'searchable'>;
}

/** Starts the workers of turns, schedules and deliveries under a new lease. */
export async function startWorkers({
  parts,
  backgroundPool,
  catalogue,
  network,
  connection,
  tracing,
  reconciler: { workflows, searchable },
}: ProcessParts): Promise<LeasedWorkers> {
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
      await deliveries?.stop();
      stopObserving();
    };
    return { lease, workers, stop };
  } catch (error) {
    await lease.release();
    throw error;
  }
}
