import pLimit from 'p-limit';
import { runSql, sql } from '../db/sql.js';
import type { Lease } from '../db/lease.js';
import { takeOver } from '../workers/takeover.js';
import { repeat } from '../platform/repeat.js';
import { endTurn } from '../turns/finish.js';
import type { ReconcileDeps } from './deps.js';
import { STALE_TURN, type StaleTurn } from './repair.js';
import { reconcileAll, reconcileStale } from './stale-turns.js';
import { deleteDeadTokenStreams } from '../stream/token-streams.js';
import { createPartitions, dropOldPartitions } from '../stream/delta-partitions.js';
import { STOP_AFTER_CANCEL_MS } from '../stream/deltas.js';
import { addRowBytes } from '../sessions/row-bytes.js';
import { signalAnswers } from '../turns/signal-answers.js';
import { endAuthorizedWaits } from '../answers/authorization-wait.js';

const PARALLEL = 8;
/**
 * How long workers and the workflow have to end a turn that is cancelled: 1 s. The second half of it is for the streams to stop and
 * to store what watchers received.
 */
export const CANCEL_GRACE_MS = 2 * STOP_AFTER_CANCEL_MS;
/** Temporal's list of closed workflows lags behind, so each round reads the last minute. Turns that have ended are skipped. */
const CLOSED_LOOKBACK_MS = 60_000;

const INTERVALS_MS = {
  takeOver: 500,
  cancels: 500,
  stale: 2000,
  closed: 3000,
  schedules: 3000,
  authorizations: 1000,
  sessions: 2000,
  partitions: 15_000,
};

/**
 * Keeps open turns moving: starts workflows that never started or vanished, ends turns that are cancelled or whose workflow is
 * gone, reassigns the activities of crashed workers, creates and drops the partitions of deltas, deletes the
 * slots of dead processes' streams, adds up the bytes of rows, and brings Temporal's schedules in line with the tables. Only the process that holds the lease does it. Returns a function that stops after the rounds under way.
 */
export function startReconciler(
  deps: ReconcileDeps & { reconcileSchedules: () => Promise<void> },
  leader: Lease,
): () => Promise<void> {
  /** `round` may return when the next one is due, if that is sooner. */
  const each = (intervalMs: number, round: () => Promise<number | null | void>): (() => Promise<void>) =>
    repeat(intervalMs, async () => {
      try {
        return Math.min(intervalMs, (leader.isHeld ? await round() : null) ?? intervalMs);
      } catch (err) {
        deps.log.warn({ err }, 'a round of the reconciler failed; the next one tries again');
        return intervalMs;
      }
    });
  // Separate loops, so that a Temporal that is away does not delay those that need only Postgres.
  const stops = [
    each(INTERVALS_MS.stale, async () => ((await reconcileStale(deps)) ? 0 : null)),
    each(INTERVALS_MS.closed, () => reconcileClosed(deps)),
    each(INTERVALS_MS.schedules, deps.reconcileSchedules),
    each(INTERVALS_MS.cancels, () => cancelOverdue(deps)),
    each(INTERVALS_MS.authorizations, () => endAuthorized(deps)),
    each(INTERVALS_MS.partitions, async () => {
      await createPartitions(deps.db);
      await dropOldPartitions(deps.db);
      await deleteDeadTokenStreams(deps.db);
    }),
    each(INTERVALS_MS.sessions, async () => ((await addRowBytes(deps.db)) ? 0 : null)),
    each(INTERVALS_MS.takeOver, () => takeOver(deps, leader)),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
    await leader.release();
  };
}

/** Ends turns soon after an operator terminated their workflow, or it failed or timed out. */
async function reconcileClosed(deps: ReconcileDeps): Promise<void> {
  const ids = await deps.workflows.listFailed(new Date(Date.now() - CLOSED_LOOKBACK_MS));
  if (ids.length === 0) return;
  const turns = await runSql<StaleTurn>(
    deps.db,
    sql`${STALE_TURN} WHERE turns.id = ANY(${ids}::text[]) AND namespace = ${deps.workflows.namespace}`,
  );
  await reconcileAll(deps, turns);
}

/** Lets calls go on whose user has authorized their server, if the API process that stored the credential died before it did. */
async function endAuthorized({ db, workflows, log }: ReconcileDeps): Promise<void> {
  for (const turnId of await endAuthorizedWaits(db)) signalAnswers({ workflows, log }, turnId);
}

/** Ends the cancelled turns that neither a worker nor their workflow has ended, the last link of docs/architecture.md "A cancel request". */
export async function cancelOverdue({ workflows, log, count, ...deps }: ReconcileDeps): Promise<void> {
  const overdue = await runSql<{ id: string }>(
    deps.db,
    sql`SELECT turn_id AS id FROM open_turns WHERE namespace = ${workflows.namespace}
          AND cancel_requested_at < statement_timestamp() - ${CANCEL_GRACE_MS}::integer * interval '1 ms'`,
  );
  await pLimit(PARALLEL).map(overdue, async ({ id }) => {
    try {
      if (await endTurn({ ...deps, log }, id, { kind: 'cancelled' })) count('cancelled');
    } catch (err) {
      log.warn({ err, turn_id: id }, 'a turn could not be cancelled; the next round tries again');
    }
    // Not awaited, because Temporal may be away.
    workflows
      .cancel(id)
      .catch((err: unknown) => log.warn({ err, turn_id: id }, 'a cancel request did not reach Temporal'));
  });
}
