import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import { repeat } from '../platform/repeat.js';
import { Lease } from '../db/lease.js';
import type { DeliveryWorkflows, StartableDelivery } from '../temporal/delivery-workflows.js';
import { WAKE_MARGIN } from './attempts.js';
import { ignored } from '../platform/ignored.js';

/** Longest delay until the workflow of a new delivery starts, while a process leads. */
export const INTERVAL_MS = 200;
/** Delay after a round that found work: more may be claimable. */
const BUSY_INTERVAL_MS = 50;
/** How long deliveries wait after the process that starts them has died. */
const LEASE_MS = 2500;
const LEASE_INTERVAL_MS = 1000;
/** Limit of a project's deliveries that wait in Temporal for their first attempt. The others wait in the table. */
export const MAX_STARTED_PER_PROJECT = 50;
const MAX_PER_ROUND = 200;
const PARALLEL_STARTS = 16;
/** After this time, a started delivery without an attempt no longer counts, and its workflow is signalled again. */
const START_LEASE = "interval '1 minute'";
const START_RETRY = "interval '2 seconds'";

interface ReconcileDeps {
  db: DataSource;
  workflows: DeliveryWorkflows;
  log: Logger;
}

/**
 * Starts the workflows of deliveries: new ones, requested retries, and those whose workflow was lost. Of the workers that
 * deliver, the one with the lease does it: the claims cost Postgres the same however many workers there are. Should two hold
 * it for a moment, `SKIP LOCKED` and the changed `wake_at` give each delivery to one. Returns a function that stops it after
 * the current round.
 */
export function startDeliveryReconciler(deps: ReconcileDeps): () => Promise<void> {
  const lease = new Lease(deps.db, {
    name: 'deliveries',
    holder: randomUUID(),
    durationMs: LEASE_MS,
    intervalMs: LEASE_INTERVAL_MS,
  });
  const stop = repeat(INTERVAL_MS, async () => {
    let started = 0;
    try {
      if (lease.isHeld) started = await reconcileDeliveries(deps);
    } catch (err) {
      deps.log.warn({ err }, 'a round of the delivery reconciler failed; the next one tries again');
    }
    return (started > 0 ? BUSY_INTERVAL_MS : INTERVAL_MS) * (0.75 + Math.random() / 2);
  });
  return async () => {
    await stop();
    await lease.release();
  };
}

/** Runs one round; returns the number of workflows that it started or signalled. */
async function reconcileDeliveries(deps: ReconcileDeps): Promise<number> {
  const deliveries = [...(await claimRetried(deps.db)), ...(await claimNew(deps.db))];
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
 * Claims new deliveries, the oldest of each project first, up to the project's limit. A million deliveries of one
 * project then neither fill Temporal nor delay another project's first one.
 */
async function claimNew(db: DataSource): Promise<StartableDelivery[]> {
  const [rows] = await db.query<[StartableDelivery[], number]>(
    `WITH RECURSIVE projects(id) AS (
       (SELECT project_id FROM webhook_deliveries WHERE state = 'pending' AND attempt_count = 0
        ORDER BY project_id LIMIT 1)
       UNION ALL
       SELECT (SELECT project_id FROM webhook_deliveries
               WHERE state = 'pending' AND attempt_count = 0 AND project_id > projects.id
               ORDER BY project_id LIMIT 1)
       FROM projects WHERE projects.id IS NOT NULL),
     ranked AS (
       SELECT new.id, new.rank FROM projects
         CROSS JOIN LATERAL (
           SELECT count(*) AS count FROM (
             SELECT FROM webhook_deliveries
             WHERE project_id = projects.id AND state = 'pending' AND attempt_count = 0 AND wake_at > now()
             LIMIT ${MAX_STARTED_PER_PROJECT}) AS waiting) AS started
         CROSS JOIN LATERAL (
           SELECT id, row_number() OVER (ORDER BY wake_at) AS rank FROM webhook_deliveries
           WHERE project_id = projects.id AND state = 'pending' AND attempt_count = 0 AND wake_at <= now()
           ORDER BY wake_at LIMIT ${MAX_STARTED_PER_PROJECT} - started.count) AS new
       WHERE projects.id IS NOT NULL
       ORDER BY new.rank, random() LIMIT ${MAX_PER_ROUND}),
     claimed AS (
       SELECT id FROM webhook_deliveries
       WHERE id IN (SELECT id FROM ranked) AND state = 'pending' AND wake_at <= now() FOR UPDATE SKIP LOCKED)
     UPDATE webhook_deliveries d SET wake_at = now() + ${START_LEASE}
     FROM claimed WHERE d.id = claimed.id RETURNING ${STARTABLE}`,
  );
  return rows;
}

/** Claims deliveries with a requested retry, and overdue ones whose workflow was lost. */
async function claimRetried(db: DataSource): Promise<StartableDelivery[]> {
  const [rows] = await db.query<[StartableDelivery[], number]>(
    `WITH claimed AS (
       SELECT id FROM webhook_deliveries WHERE state = 'pending' AND attempt_count > 0 AND wake_at <= now()
       ORDER BY wake_at LIMIT ${MAX_PER_ROUND} FOR UPDATE SKIP LOCKED)
     UPDATE webhook_deliveries d SET wake_at = now() + ${WAKE_MARGIN}
     FROM claimed WHERE d.id = claimed.id RETURNING ${STARTABLE}`,
  );
  return rows;
}
