import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import type { Database } from '../db/db.js';
import type { Logger } from '../platform/logger.js';
import { repeat } from '../platform/repeat.js';
import { Lease } from '../db/lease.js';
import type { DeliveryWorkflows, StartableDelivery } from '../temporal/delivery-workflows.js';
import { ignored } from '../platform/ignored.js';

/**
 * Longest delay until the workflow of a new delivery or of a retry that is due starts, while a process leads and a notification
 * was lost.
 */
export const INTERVAL_MS = 1000;
/** Delay after a round that found work, and after a notification: more may be claimable. */
const BUSY_INTERVAL_MS = 50;
/** Delay while deliveries come: those beyond the limit of a project wait for a place, of which nobody is told. */
const RECENT_INTERVAL_MS = 200;
const RECENT_MS = 5000;
/** How long deliveries wait after the process that starts them has died. */
const LEASE_MS = 2500;
const LEASE_INTERVAL_MS = 1000;
/**
 * Limit of a project's deliveries that are under way in Temporal, for first attempts and for retries each. The others wait
 * in the table.
 */
export const MAX_STARTED_PER_PROJECT = 50;
const MAX_PER_ROUND = 200;
const PARALLEL_STARTS = 16;
/** After this time, a started delivery without an attempt no longer counts, and its workflow is signalled again. */
const START_LEASE = "interval '1 minute'";
const START_RETRY = "interval '2 seconds'";

export interface DeliveryReconciler {
  /** Looks for deliveries that were stored a moment ago. */
  startSoon(): void;
  /** Stops after the current rounds, so that it starts no more workflows. */
  stop(): Promise<void>;
}

interface ReconcileDeps {
  db: Database;
  workflows: DeliveryWorkflows;
  log: Logger;
}

/** The deliveries that a round claims: those without an attempt, or those with one. Each index has one of these conditions. */
const CLAIMS = { first: 'attempt_count = 0', retry: 'attempt_count > 0' };
export type Claim = keyof typeof CLAIMS;

/**
 * Starts or wakes the workflows of deliveries that are due: first attempts and retries, each in rounds of their own, so that
 * neither waits for the other. Of the workers that deliver, the one with the lease does it: the claims cost Postgres the same
 * however many workers there are. Should two hold it for a moment, `SKIP LOCKED` and the changed `wake_at` give each delivery
 * to one.
 */
export function startDeliveryReconciler(deps: ReconcileDeps): DeliveryReconciler {
  const lease = new Lease(deps.db, {
    name: 'deliveries',
    holder: randomUUID(),
    durationMs: LEASE_MS,
    intervalMs: LEASE_INTERVAL_MS,
  });
  const [first, retry] = (['first', 'retry'] as const).map((claim) => {
    let foundAt = -Infinity;
    return repeat(INTERVAL_MS, async () => {
      let found = 0;
      try {
        if (lease.isHeld) found = await reconcileDeliveries(deps, claim);
      } catch (err) {
        deps.log.warn({ err }, 'a round of the delivery reconciler failed; the next one tries again');
      }
      if (found > 0) foundAt = performance.now();
      const rest = performance.now() < foundAt + RECENT_MS ? RECENT_INTERVAL_MS : INTERVAL_MS;
      return (found > 0 ? BUSY_INTERVAL_MS : rest) * (0.75 + Math.random() / 2);
    });
  });
  return {
    startSoon: () => first!.soon(BUSY_INTERVAL_MS),
    async stop() {
      await Promise.all([first!.stop(), retry!.stop()]);
      await lease.release();
    },
  };
}

/** Runs one round; returns the number of workflows that it started or woke. */
async function reconcileDeliveries(deps: ReconcileDeps, claim: Claim): Promise<number> {
  const deliveries = await claimDeliveries(deps.db, claim);
  if (deliveries.length === 0) return 0;
  const started = await pLimit(PARALLEL_STARTS).map(deliveries, (delivery) => start(deps, delivery));
  return started.filter(Boolean).length;
}

async function start({ db, workflows, log }: ReconcileDeps, delivery: StartableDelivery): Promise<boolean> {
  try {
    await workflows.wake(delivery);
    return true;
  } catch (err) {
    log.warn({ err, delivery_id: delivery.id }, 'a delivery could not be started yet, it is tried again');
    await db
      .query(`UPDATE webhook_deliveries SET wake_at = now() + ${START_RETRY} WHERE id = $1 AND state = 'pending'`, [
        delivery.id,
      ])
      .catch(ignored('a later round starts it'));
    return false;
  }
}

const STARTABLE = 'd.id, d.webhook_id, d.project_id, d.event_type, d.session_id, d.turn_id';

/**
 * Claims deliveries that are due, the oldest of each project first, up to the project's limit: a million deliveries of one
 * project neither fill Temporal nor delay another project's. A claimed delivery has `wake_at` after `next_attempt_at` until
 * its attempt is stored; the claim ends before that if its attempt is not made in time.
 */
export async function claimDeliveries(db: Pick<Database, 'query'>, claim: Claim): Promise<StartableDelivery[]> {
  const claimable = `state = 'pending' AND ${CLAIMS[claim]}`;
  const [rows] = await db.query<[StartableDelivery[], number]>(
    `WITH RECURSIVE projects(id, wake_at) AS (
       (SELECT project_id, wake_at FROM webhook_deliveries WHERE ${claimable} ORDER BY project_id, wake_at LIMIT 1)
       UNION ALL
       SELECT next.project_id, next.wake_at FROM projects CROSS JOIN LATERAL (
         SELECT project_id, wake_at FROM webhook_deliveries WHERE ${claimable} AND project_id > projects.id
         ORDER BY project_id, wake_at LIMIT 1) AS next),
     ranked AS (
       SELECT due.id, due.rank FROM projects
         CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE ${CLAIMS[claim]}) AS count FROM (
             SELECT attempt_count FROM webhook_deliveries
             WHERE project_id = projects.id AND state = 'pending' AND wake_at > next_attempt_at
               AND wake_at > now() AND wake_at <= now() + ${START_LEASE} AND next_attempt_at <= now()) AS waiting) AS started
         CROSS JOIN LATERAL (
           SELECT id, row_number() OVER (ORDER BY wake_at) AS rank FROM webhook_deliveries
           WHERE project_id = projects.id AND ${claimable} AND wake_at <= now()
           ORDER BY wake_at LIMIT greatest(0, ${MAX_STARTED_PER_PROJECT} - started.count)) AS due
       WHERE projects.wake_at <= now()
       ORDER BY due.rank, random() LIMIT $1),
     locked AS (
       SELECT id, state, wake_at FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM ranked)) FOR UPDATE SKIP LOCKED)
     UPDATE webhook_deliveries d SET wake_at = now() + ${START_LEASE}
     FROM locked WHERE d.id = locked.id AND locked.state = 'pending' AND locked.wake_at <= now() RETURNING ${STARTABLE}`,
    // A statement with a parameter is prepared: this one took longer to plan than to run.
    [MAX_PER_ROUND],
  );
  return rows;
}
