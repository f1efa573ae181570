import type { Db } from '../db/db.js';
import { readPage } from '../db/read-page.js';
import { isoText, runSql, sql } from '../db/sql.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import type { SkipReason } from './schedule.js';

/** How long runs are kept (docs/decisions.md "Schedules"). */
const KEPT = "interval '30 days'";
export const KEPT_MS = 30 * 86_400_000;

export interface Run {
  scheduled_at: string;
  started_at: string | null;
  state: 'started' | 'skipped';
  session_id: string | null;
  turn_id: string | null;
  reason: SkipReason | null;
}

/** SQL for the start of the run `r`. A message that waited is a turn later; its run stores that at the end of the turn. */
const STARTED_AT = 'coalesce(r.started_at, (SELECT t.queued_at FROM turns t WHERE t.id = r.turn_id))';

/** SQL for the run `r` as clients see it. */
export const RUN_JSON = `json_build_object('scheduled_at', ${isoText('r.scheduled_at')},
  'started_at', ${isoText(STARTED_AT)}, 'state', r.state, 'session_id', r.session_id, 'turn_id', r.turn_id,
  'reason', r.reason)`;

/** A run in its list; a list is in the order of `created_at`. */
type ListedRun = Run & { created_at: string };

export function listRuns(db: Db, scheduleId: string, { limit, after }: PageRequest): Promise<PageRows<ListedRun>> {
  return readPage<ListedRun>(db, {
    query: `SELECT scheduled_at AS created_at, schedule_id AS id, scheduled_at, ${STARTED_AT} AS started_at,
       state, session_id, turn_id, reason
     FROM schedule_runs r WHERE schedule_id = $1 AND ($2::timestamptz IS NULL OR scheduled_at < $2)
     ORDER BY scheduled_at DESC LIMIT $3`,
    values: [scheduleId, after?.[0] ?? null, limit + 1],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

/** Stores a run that a request asked for. */
export async function insertRun(tx: Db, scheduleId: string, run: Run): Promise<void> {
  await runSql(
    tx,
    sql`INSERT INTO schedule_runs (schedule_id, scheduled_at, started_at, state, session_id, turn_id, reason, is_settled)
        VALUES (${scheduleId}, ${run.scheduled_at}, ${run.started_at}, ${run.state}, ${run.session_id}, ${run.turn_id},
          ${run.reason}, ${run.turn_id === null})`,
  );
}

/**
 * Stores times as missed. The key of the table keeps a second run of the same time out: returns the times, in milliseconds,
 * that had none.
 */
export async function takeTimes(tx: Db, scheduleId: string, times: readonly number[]): Promise<Set<number>> {
  const taken = await runSql<{ scheduled_at: string }>(
    tx,
    sql`INSERT INTO schedule_runs (schedule_id, scheduled_at, state, reason, is_settled)
        SELECT ${scheduleId}, time, 'skipped', 'missed', true
        FROM unnest(${times.map((time) => new Date(time).toISOString())}::timestamptz[]) AS missed (time)
        ON CONFLICT DO NOTHING RETURNING scheduled_at`,
  );
  return new Set(taken.map(({ scheduled_at }) => Date.parse(scheduled_at)));
}

/** Stores what came of a time that was taken before. */
export async function updateRun(tx: Db, scheduleId: string, run: Run): Promise<void> {
  await runSql(
    tx,
    sql`UPDATE schedule_runs SET started_at = ${run.started_at}, state = ${run.state}, session_id = ${run.session_id},
          turn_id = ${run.turn_id}, reason = ${run.reason}, is_settled = ${run.turn_id === null}
        WHERE schedule_id = ${scheduleId} AND scheduled_at = ${run.scheduled_at}`,
  );
}

/**
 * Removes at most `limit` runs older than 30 days, and as many schedules that Temporal has forgotten and that ended or were
 * deleted 30 days ago, without a run since; returns their numbers.
 */
export async function deleteOldRuns(db: Db, limit: number): Promise<{ runs: number; schedules: number }> {
  const [, runs] = await db.query<[unknown[], number]>(
    `DELETE FROM schedule_runs WHERE (schedule_id, scheduled_at) IN (
       SELECT schedule_id, scheduled_at FROM schedule_runs WHERE scheduled_at < now() - ${KEPT}
       LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
  const [, schedules] = await db.query<[unknown[], number]>(
    `DELETE FROM schedules WHERE id IN (
       SELECT id FROM schedules WHERE state = 'ended' AND updated_at < now() - ${KEPT} AND version = synced_version
         AND NOT EXISTS (SELECT FROM schedule_runs r WHERE r.schedule_id = schedules.id)
       LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    [limit],
  );
  return { runs, schedules };
}
