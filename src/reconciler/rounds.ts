import pLimit from 'p-limit';
import { runSql, sql } from '../db/sql.js';
import type { Lease } from '../db/lease.js';
import { takeOver } from './takeover.js';
import type { Logger } from '../platform/logger.js';
import { endTurn } from '../turns/finish.js';
import type { ReconcileDeps } from './deps.js';
import { STALE_TURN, type StaleTurn } from './repair.js';
import { reconcileAll, reconcileStale } from './stale-turns.js';
import { createPartitions, dropOldPartitions } from '../stream/delta-partitions.js';
import { notifyCancel } from '../turns/running-turns.js';

const PARALLEL = 8;
/** A cancel that has not ended its turn by then is delivered again, and then carried out here, worker or not. */
const CANCEL_REDELIVERED_SECONDS = 1.5;
const CANCEL_OVERDUE_SECONDS = 4;
/** Temporal's list of closed workflows lags behind; a turn in it that has ended is skipped. */
const CLOSED_LOOKBACK_MS = 60_000;

const INTERVALS_MS = { takeOver: 500, cancels: 1000, stale: 2000, closed: 3000, partitions: 15_000 };

/**
 * Keeps open turns moving: starts workflows that never started or vanished, delivers cancels, ends turns whose workflow is
 * gone, gives the activities of dead workers to living ones, keeps the partitions of deltas. Keeps Temporal's schedules in
 * step with the tables. The process that holds the lease does it; the others stand by. Returns a function that stops it
 * after the rounds under way.
 */
export function startReconciler(
  deps: ReconcileDeps & { reconcileSchedules: () => Promise<void> },
  leader: Lease,
): () => Promise<void> {
  const whileLeading = (round: () => Promise<boolean | void>) => async (): Promise<boolean | void> => {
    if (leader.isHeld) return round();
  };
  // Loops of their own: what needs no Temporal must not wait for a Temporal that is away.
  const stops = [
    repeat(
      deps.log,
      INTERVALS_MS.stale,
      whileLeading(() => reconcileStale(deps)),
    ),
    repeat(
      deps.log,
      INTERVALS_MS.closed,
      whileLeading(() => allOf([reconcileClosed(deps), deps.reconcileSchedules()])),
    ),
    repeat(
      deps.log,
      INTERVALS_MS.cancels,
      whileLeading(() => cancelOverdue(deps)),
    ),
    repeat(
      deps.log,
      INTERVALS_MS.partitions,
      whileLeading(async () => {
        await createPartitions(deps.db);
        await dropOldPartitions(deps.db);
      }),
    ),
    repeat(
      deps.log,
      INTERVALS_MS.takeOver,
      whileLeading(() => takeOver(deps, leader)),
    ),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
    await leader.release();
  };
}

/** Waits for all of them also if one fails, so that a round never overlaps the next one. */
async function allOf(work: Promise<void>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}

/**
 * Runs rounds, one after the other, without a pause after one that returns true. Returns a function that stops after the
 * current round.
 */
function repeat(log: Logger, intervalMs: number, round: () => Promise<boolean | void>): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout;
  let current: Promise<void> = Promise.resolve();
  const next = (delayMs: number): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      current = round()
        .catch((err: unknown) => log.warn({ err }, 'a round of the reconciler failed, the next one follows'))
        .then((hasMore) => next(hasMore === true ? 0 : intervalMs));
    }, delayMs);
  };
  next(intervalMs);
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await current;
  };
}

/** Looks at the turns whose workflow an operator terminated, or that failed or timed out, soon after it happened. */
async function reconcileClosed(deps: ReconcileDeps): Promise<void> {
  const ids = await deps.workflows.listFailed(new Date(Date.now() - CLOSED_LOOKBACK_MS));
  if (ids.length === 0) return;
  const turns = await runSql<StaleTurn>(
    deps.db,
    sql`${STALE_TURN} WHERE turns.id = ANY(${ids}::text[]) AND namespace = ${deps.workflows.namespace}`,
  );
  await reconcileAll(deps, turns);
}

/** Delivers cancels that have not ended their turn, and ends the turns whose cancel request no worker carried out. */
export async function cancelOverdue(deps: ReconcileDeps): Promise<void> {
  const { db, workflows, log, count } = deps;
  const overdue = await runSql<{ id: string; is_overdue: boolean }>(
    db,
    sql`SELECT turn_id AS id, cancel_requested_at < statement_timestamp() - ${CANCEL_OVERDUE_SECONDS}::float * interval '1 s' AS is_overdue
        FROM open_turns WHERE namespace = ${workflows.namespace}
          AND cancel_requested_at < statement_timestamp() - ${CANCEL_REDELIVERED_SECONDS}::float * interval '1 s'`,
  );
  await inParallel(overdue, async ({ id, is_overdue }) => {
    try {
      if (is_overdue && (await endTurn(deps, id, { kind: 'cancelled' }))) {
        count('cancelled');
        log.warn({ turn_id: id }, 'the reconciler cancelled a turn that no worker cancelled');
      } else if (!is_overdue) {
        await notifyCancel(db, id);
        count('cancel_delivered');
      }
    } catch (err) {
      log.warn({ err, turn_id: id }, 'a turn could not be cancelled, the next round tries again');
    }
    // Without waiting for a Temporal that is away.
    workflows.cancel(id).catch((err: unknown) => log.warn({ err, turn_id: id }, 'a cancel did not reach Temporal'));
  });
}

async function inParallel<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const limit = pLimit(PARALLEL);
  return Promise.all(items.map((item) => limit(() => work(item))));
}
