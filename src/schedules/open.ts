import type { Client } from '@temporalio/client';
import type { Config } from '../platform/config.js';
import { createTurnSchedules } from '../temporal/turn-schedules.js';
import { fireSchedule, type FireDeps } from './fire.js';
import type { Round } from '../platform/rounds.js';
import { createScheduleRound } from './reconcile.js';
import { syncSoon } from './sync.js';

export interface Schedules {
  /** Has Temporal follow a changed schedule, without waiting. */
  sync: (id: string) => void;
  round: Round<object>;
}

export function openSchedules(
  client: Client,
  fireDeps: FireDeps,
  config: Pick<Config, 'taskQueue' | 'scheduleCatchupSeconds'>,
): Schedules {
  let id: string | undefined;
  const { db, log } = fireDeps;
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
    fire: (scheduleId: string) => fireSchedule({ ...fireDeps, catchupSeconds }, scheduleId, null),
  };
  return { sync: (scheduleId) => syncSoon(deps, scheduleId), round: createScheduleRound(deps) };
}
