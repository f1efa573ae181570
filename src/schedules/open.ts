import type { Client } from '@temporalio/client';
import type { DataSource } from 'typeorm';
import type { Config } from '../platform/config.js';
import type { Logger } from '../platform/logger.js';
import { createTurnSchedules } from '../temporal/turn-schedules.js';
import { createScheduleRounds } from './reconcile.js';
import { syncSoon } from './sync.js';

/** What a process does for schedules. */
export interface Schedules {
  /** Has Temporal follow a changed schedule, without waiting. */
  sync: (id: string) => void;
  /** The reconciler's round. */
  reconcile: () => Promise<void>;
}

export function openSchedules(
  client: Client,
  { db, log }: { db: DataSource; log: Logger },
  config: Pick<Config, 'taskQueue' | 'scheduleCatchupSeconds'>,
): Schedules {
  let id: string | undefined;
  const installation = async (): Promise<string> => {
    id ??= (await db.query<[{ id: string }]>('SELECT id FROM installation'))[0].id;
    return id;
  };
  const { taskQueue, scheduleCatchupSeconds: catchupSeconds } = config;
  const deps = {
    db,
    log,
    installation,
    schedules: createTurnSchedules(client, { taskQueue, catchupSeconds, installation }),
  };
  return { sync: (scheduleId) => syncSoon(deps, scheduleId), reconcile: createScheduleRounds(deps) };
}
