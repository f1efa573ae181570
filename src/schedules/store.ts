import type { Db, Tx } from '../db/db.js';
import { emptyAnswers } from '../db/answers-of-resources.js';
import { readPage } from '../db/read-page.js';
import { requireRoomFor } from '../db/resources.js';
import { joinSql, rawSql, runSql, sql } from '../db/sql.js';
import type { LiveKey } from '../projects/api-keys.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { RUN_JSON } from './runs.js';
import type { Schedule, ScheduleState } from './schedule.js';

const MAX_SCHEDULES_PER_PROJECT = 100;

const SCHEDULE_COLUMNS = `id, project_id, key_id, name, cron, at, timezone, target, session_id, message, overlap, end_at, state, paused_reason,
  next_run_at, failures, version, synced_version, created_at, updated_at, deleted_at, clock_timestamp() AS now,
  (SELECT ${RUN_JSON}::text FROM schedule_runs r WHERE r.schedule_id = schedules.id
   ORDER BY r.scheduled_at DESC LIMIT 1) AS last_run`;

export async function findSchedule(db: Db, projectId: string, id: string): Promise<Schedule | null> {
  const [schedule] = await runSql<Schedule>(
    db,
    sql`SELECT ${rawSql(SCHEDULE_COLUMNS)} FROM schedules WHERE id = ${id} AND project_id = ${projectId} AND deleted_at IS NULL`,
  );
  return schedule ?? null;
}

export function listSchedules(db: Db, projectId: string, { limit, after }: PageRequest): Promise<PageRows<Schedule>> {
  return readPage<Schedule>(db, {
    query: `SELECT ${SCHEDULE_COLUMNS} FROM schedules WHERE project_id = $1 AND deleted_at IS NULL
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    values: [projectId, after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

type ScheduleFields = Pick<
  Schedule,
  'name' | 'cron' | 'at' | 'timezone' | 'target' | 'session_id' | 'message' | 'overlap' | 'end_at'
>;

/** @throws ServiceError if the project has as many schedules that have not ended as it may have */
export function requireRoomForSchedule(tx: Tx, projectId: string): Promise<void> {
  return requireRoomFor(tx, projectId, 'schedule', MAX_SCHEDULES_PER_PROJECT);
}

export async function insertSchedule(
  tx: Tx,
  { projectId, keyId }: Pick<LiveKey, 'projectId' | 'keyId'>,
  fields: ScheduleFields & { next_run_at: string },
): Promise<Schedule> {
  await requireRoomForSchedule(tx, projectId);
  const id = newId('schedule');
  const { name, cron, at, timezone, target, session_id, message, overlap, end_at, next_run_at } = fields;
  const [row] = await runSql<Schedule>(
    tx,
    sql`INSERT INTO schedules
          (id, project_id, key_id, name, cron, at, timezone, target, session_id, message, overlap, end_at, next_run_at)
        VALUES (${id}, ${projectId}, ${keyId}, ${name}, ${cron}, ${at}, ${timezone}, ${target}, ${session_id}, ${message},
          ${overlap}, ${end_at}, ${next_run_at})
        RETURNING ${rawSql(SCHEDULE_COLUMNS)}`,
  );
  return row!;
}

/**
 * Locks the session of an existing target, if any, then the schedule. Everything that locks both takes this order; a
 * deletion of the session pauses its schedules. Returns null if the schedule is deleted. A time that is set anew is later than
 * `next_after`: now, or the newest run, which can be later. A run more than an hour ahead is from a clock that was wrong: it does
 * not hold the schedule up.
 */
export async function lockSchedule(
  tx: Tx,
  { id, session_id }: Pick<Schedule, 'id' | 'session_id'>,
): Promise<(Schedule & { session_exists: boolean; next_after: string }) | null> {
  const sessions =
    session_id === null
      ? []
      : await runSql(tx, sql`SELECT FROM sessions WHERE id = ${session_id} AND deleted_at IS NULL FOR NO KEY UPDATE`);
  await runSql(tx, sql`SELECT FROM schedules WHERE id = ${id} FOR UPDATE`);
  // A second statement: after a wait for the lock, the first would show the newest run as it was before.
  const [schedule] = await runSql<Schedule & { next_after: string }>(
    tx,
    sql`SELECT ${rawSql(SCHEDULE_COLUMNS)}, greatest(clock_timestamp(),
          (SELECT max(scheduled_at) FROM schedule_runs WHERE schedule_id = schedules.id
             AND scheduled_at < clock_timestamp() + interval '1 hour')) AS next_after
        FROM schedules WHERE id = ${id} AND deleted_at IS NULL`,
  );
  if (schedule === undefined) return null;
  return { ...schedule, session_exists: session_id === null || sessions.length > 0 };
}

export type ScheduleChange = Partial<
  Omit<ScheduleFields, 'target' | 'session_id'> & {
    state: ScheduleState;
    paused_reason: Schedule['paused_reason'];
    next_run_at: string | null;
    failures: number;
  }
>;

export async function changeSchedule(tx: Db, id: string, change: ScheduleChange): Promise<Schedule> {
  const set = Object.entries(change).map(([column, value]) => sql`${rawSql(column)} = ${value}`);
  const [row] = await runSql<Schedule>(
    tx,
    sql`WITH changed AS (
          UPDATE schedules SET ${joinSql(set, ', ')}, version = version + 1, updated_at = clock_timestamp()
          WHERE id = ${id} RETURNING *)
        SELECT ${rawSql(SCHEDULE_COLUMNS)} FROM changed AS schedules`,
  );
  return row!;
}

/** Deletes the schedule, its texts and what it would send. Returns false if it was deleted already. */
export async function deleteSchedule(tx: Tx, id: string): Promise<boolean> {
  const [, count] = await tx.query<[unknown[], number]>(
    `UPDATE schedules SET deleted_at = clock_timestamp(), updated_at = clock_timestamp(), state = 'ended', name = NULL,
       paused_reason = NULL, next_run_at = NULL, target = '{}', message = '{}', version = version + 1
     WHERE id = $1 AND deleted_at IS NULL`,
    [id],
  );
  await emptyAnswers(tx, [id]);
  return count === 1;
}
