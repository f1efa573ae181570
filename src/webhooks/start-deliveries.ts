import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import type { Database } from '../db/db.js';
import type { Logger } from '../platform/logger.js';
import { repeat } from '../platform/repeat.js';
import { Lease } from '../db/lease.js';
import type { DeliveryWorkflows, StartableDelivery } from '../temporal/delivery-workflows.js';
import { ignored } from '../platform/ignored.js';

/** Longest delay until the workflow of a new delivery starts, while a process leads. */
export const INTERVAL_MS = 200;
/** Delay after a round that found work: more may be claimable. */
const BUSY_INTERVAL_MS = 50;
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
 * to one. Returns a function that stops it after the current rounds.
 */
export function startDeliveryReconciler(deps: ReconcileDeps): () => Promise<void> {
  const lease = new Lease(deps.db, {
    name: 'deliveries',
    holder: randomUUID(),
    durationMs: LEASE_MS,
    intervalMs: LEASE_INTERVAL_MS,
  });
  const stops = (['first', 'retry'] as const).map((claim) =>
    repeat(INTERVAL_MS, async () => {
      let started = 0;
      try {
        if (lease.isHeld) started = await reconcileDeliveries(deps, claim);
      } catch (err) {
        deps.log.warn({ err }, 'a round of the delivery reconciler failed; the next one tries again');
      }
      return (started > 0 ? BUSY_INTERVAL_MS : INTERVAL_MS) * (0.75 + Math.random() / 2);
    }),
  );
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
    await lease.release();
  };
}

/** Runs one round; returns the number of workflows that it started or woke. */
async function reconcileDeliveries(deps: ReconcileDeps, claim: Claim): Promise<number> {
  const deliveries = await claimDeliveries(deps.db, claim);
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
       ORDER BY due.rank, random() LIMIT ${MAX_PER_ROUND}),
     locked AS (
       SELECT id, state, wake_at FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM ranked)) FOR UPDATE SKIP LOCKED)
     UPDATE webhook_deliveries d SET wake_at = now() + ${START_LEASE}
     FROM locked WHERE d.id = locked.id AND locked.state = 'pending' AND locked.wake_at <= now() RETURNING ${STARTABLE}`,
  );
  return rows;
}
