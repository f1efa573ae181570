import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { Logger } from '../platform/logger.js';
import type { TurnSchedules } from '../temporal/turn-schedules.js';
import { nextTimes } from './calendar/next-times.js';
import { startOfTimes, timingOf, type Schedule } from './schedule.js';

export interface SyncDeps {
  db: Database;
  log: Logger;
  schedules: TurnSchedules;
}

/** Times that Temporal is given at once. It gets further ones when half of them are over. */
const TIMES_AHEAD = 50;

type Synced = Pick<
  Schedule,
  | 'id'
  | 'project_id'
  | 'name'
  | 'cron'
  | 'at'
  | 'timezone'
  | 'end_at'
  | 'state'
  | 'paused_reason'
  | 'next_run_at'
  | 'version'
  | 'deleted_at'
>;

export async function syncSchedule({ db, schedules }: SyncDeps, id: string): Promise<void> {
  const [schedule] = await runSql<Synced & { now: string }>(
    db,
    sql`SELECT id, project_id, name, cron, at, timezone, end_at, state, paused_reason, next_run_at, version, deleted_at,
          clock_timestamp() AS now
        FROM schedules WHERE id = ${id}`,
  );
  if (schedule === undefined || schedule.deleted_at !== null || schedule.state === 'ended') {
    await schedules.remove(id);
    if (schedule !== undefined) await markSynced(db, schedule, null);
    return;
  }
  const times = nextTimes(timingOf(schedule), startOfTimes(schedule), TIMES_AHEAD);
  const isPaused = schedule.state === 'paused';
  await schedules.put({ id, project_id: schedule.project_id, note: noteOf(schedule), isPaused, times });
  const refillAt = isPaused || times.length < TIMES_AHEAD ? undefined : times[TIMES_AHEAD / 2];
  await markSynced(db, schedule, refillAt === undefined ? null : new Date(refillAt).toISOString());
}

/** As `syncSchedule`, without waiting, for requests: if it fails, the reconciler tries again. */
export function syncSoon(deps: SyncDeps, id: string): void {
  syncSchedule(deps, id).catch((err: unknown) =>
    deps.log.warn({ err, schedule_id: id }, 'Temporal does not follow a schedule yet, the reconciler tries again'),
  );
}

/** What Temporal notes of a schedule: its version, and for operators when it runs. */
export function noteOf(schedule: Omit<Synced, 'id' | 'project_id' | 'end_at' | 'next_run_at' | 'deleted_at'>): string {
  const { version, cron, at, timezone, name, state, paused_reason } = schedule;
  const when = cron === null ? `once at ${at}` : `${cron} in ${timezone}`;
  const paused = state === 'paused' ? ` · paused${paused_reason === null ? '' : `: ${paused_reason}`}` : '';
  return `version ${version} · ${when}${name === null ? '' : ` · ${name}`}${paused}`;
}

async function markSynced(db: Database, { id, version }: Synced, refillAt: string | null): Promise<void> {
  await runSql(db, sql`UPDATE schedules SET synced_version = ${version}, refill_at = ${refillAt} WHERE id = ${id}`);
}
