import pLimit from 'p-limit';
import { runSql, sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import type { Round } from '../platform/rounds.js';
import { countEndedTurns, findUncounted } from './failures.js';
import { schedulePauses } from './metrics.js';
import { lockSchedule } from './store.js';
import { noteOf, syncSchedule, type SyncDeps } from './sync.js';

const PARALLEL = 8;
/** A burst of times leaves Temporal room for the turns that it starts. */
const MAX_SYNCED_PER_ROUND = 100;
const MAX_LATE_PER_ROUND = 50;
/** The request that changed a schedule tells Temporal by itself, and Temporal fires by itself. */
const SYNC_GRACE_SECONDS = 2;
const LATE_SECONDS = 5;
const LATE_AGAIN_SECONDS = 15;
/** Temporal's list can be older than a change by a few seconds. */
const LIST_LAG_SECONDS = 30;
const COMPARE_INTERVAL_MS = 60_000;

interface ReconcileSchedulesDeps extends SyncDeps {
  installation: () => Promise<string>;
  fire: (id: string) => Promise<unknown>;
}

/**
 * Returns the round for schedules: Temporal follows the rows that changed and gets further times, late
 * schedules are fired, and failed turns are counted. Every minute all schedules are compared with Temporal's.
 */
export function createScheduleRound(deps: ReconcileSchedulesDeps): Round<object> {
  let comparedAt = -Infinity;
  return {
    name: 'schedules',
    everyMs: 3000,
    async run() {
      await countFailures(deps);
      await syncChanged(deps);
      await fireLate(deps);
      if (performance.now() < comparedAt + COMPARE_INTERVAL_MS) return;
      comparedAt = performance.now();
      await compareAll(deps);
    },
  };
}

/** Temporal follows the schedules that changed, and gets further times of those that need them. */
async function syncChanged(deps: ReconcileSchedulesDeps): Promise<void> {
  const changed = await runSql<{ id: string }>(
    deps.db,
    sql`SELECT id FROM schedules
        WHERE version <> synced_version AND updated_at < now() - ${SYNC_GRACE_SECONDS}::float * interval '1 s'
        UNION SELECT id FROM schedules WHERE refill_at <= now() LIMIT ${MAX_SYNCED_PER_ROUND}`,
  );
  await forEach(deps, changed, 'Temporal does not follow a schedule yet', ({ id }) => syncSchedule(deps, id));
}

/**
 * Fires the schedules that Temporal has not fired, for example because it was given their time too late, or because a worker
 * died. Without Temporal, which may be busy with the same times.
 */
async function fireLate(deps: ReconcileSchedulesDeps): Promise<void> {
  const late = await runSql<{ id: string }>(
    deps.db,
    sql`WITH late AS (
          UPDATE schedules SET checked_at = now() WHERE id IN (
            SELECT id FROM schedules
            WHERE state = 'active' AND next_run_at < now() - ${LATE_SECONDS}::float * interval '1 s'
              AND (checked_at IS NULL OR checked_at < now() - ${LATE_AGAIN_SECONDS}::float * interval '1 s')
            ORDER BY next_run_at LIMIT ${MAX_LATE_PER_ROUND} FOR UPDATE SKIP LOCKED)
          RETURNING id)
        SELECT id FROM late`,
  );
  await forEach(deps, late, 'a late schedule could not be fired', ({ id }) => deps.fire(id));
}

/** Counts the turns that have ended, so that failures pause their schedule before its next time. */
async function countFailures(deps: ReconcileSchedulesDeps): Promise<void> {
  const uncounted = await findUncounted(deps.db);
  await forEach(deps, uncounted, 'the turns of a schedule could not be counted', async (schedule) => {
    const pauses = await transaction(deps.db, async (tx) => {
      const locked = await lockSchedule(tx, schedule);
      return locked !== null && countEndedTurns(tx, locked.id);
    });
    if (pauses) schedulePauses.inc();
  });
}

/**
 * Compares every schedule with Temporal's: one that is missing, changed or paused there is brought up to date; one
 * without a row, for example after a restored backup, is deleted.
 */
async function compareAll(deps: ReconcileSchedulesDeps): Promise<void> {
  const rows = await runSql<
    Parameters<typeof noteOf>[0] & {
      id: string;
      next_run_at: string | null;
      is_due: boolean | null;
      is_settled: boolean;
    }
  >(
    deps.db,
    sql`SELECT id, name, cron, at, timezone, state, paused_reason, version, next_run_at,
          next_run_at < now() + ${LIST_LAG_SECONDS}::float * interval '1 s' AS is_due,
          version = synced_version AND updated_at < now() - ${LIST_LAG_SECONDS}::float * interval '1 s' AS is_settled
        FROM schedules WHERE deleted_at IS NULL AND state <> 'ended'`,
  );
  const wanted = new Map(rows.map((row) => [row.id, row]));
  const differ: { id: string }[] = [];
  const installation = await deps.installation();
  for await (const listed of deps.schedules.list()) {
    if (listed.installation !== installation) continue;
    const row = wanted.get(listed.id);
    wanted.delete(listed.id);
    const isSame =
      row !== undefined &&
      listed.note === noteOf(row) &&
      listed.isPaused === (row.state === 'paused') &&
      (row.is_due === true || row.next_run_at === null || listed.next === Date.parse(row.next_run_at));
    if (!isSame && (row === undefined || row.is_settled)) differ.push({ id: listed.id });
  }
  for (const { id, is_settled } of wanted.values()) if (is_settled) differ.push({ id });
  if (differ.length > 0) deps.log.info({ schedules: differ.length }, 'schedules differ from those in Temporal');
  await forEach(deps, differ, 'a schedule could not be compared with Temporal', ({ id }) => syncSchedule(deps, id));
}

/** A failed item does not block the others. The next round retries it. */
async function forEach<T extends { id: string }>(
  { log }: Pick<SyncDeps, 'log'>,
  items: T[],
  failure: string,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  await pLimit(PARALLEL).map(items, (item) =>
    work(item).catch((err: unknown) => log.warn({ err, schedule_id: item.id }, failure)),
  );
}
