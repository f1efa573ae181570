import type { Tx } from '../db/db.js';

/** Limit of one request. */
const MAX_RETRIED = 10_000;
/** Limit of one statement: all of them at once can take longer than a statement may on a busy Postgres. */
const BATCH = 1000;
/** Retries of a webhook that become due each second, however many requests ask for them: its receiver was just down. */
const RETRIED_PER_SECOND = 50;

/**
 * Makes the failed deliveries of a webhook due again, the oldest first, after those that earlier requests made due. One
 * that had no attempt is due at once. Returns their number.
 */
export async function retryFailed(tx: Tx, webhookId: string): Promise<number> {
  let retried = 0;
  for (let count = BATCH; count === BATCH && retried < MAX_RETRIED; retried += count) {
    count = await retryBatch(tx, webhookId);
  }
  return retried;
}

/**
 * The lock of the webhook makes requests at the same time schedule their deliveries one after the other. An attempt locks its
 * delivery before the webhook, so a delivery that is locked is left out.
 */
async function retryBatch(tx: Tx, webhookId: string): Promise<number> {
  const [row] = await tx.query<[{ count: number }]>(
    `WITH webhook AS (
       SELECT id, greatest(retries_until, clock_timestamp()) AS since FROM webhooks WHERE id = $1 FOR NO KEY UPDATE),
     failed AS (
       SELECT id, created_at, attempt_count > 0 AS is_paced FROM webhook_deliveries
       WHERE webhook_id = (SELECT id FROM webhook) AND state = 'failed'
       ORDER BY created_at, id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED),
     due AS (
       SELECT failed.id, CASE WHEN is_paced
         THEN since + count(*) FILTER (WHERE is_paced) OVER (ORDER BY created_at, failed.id) * interval '1 second' / ${RETRIED_PER_SECOND}
         ELSE now() END AS at
       FROM failed, webhook),
     retried AS (
       UPDATE webhook_deliveries d SET state = 'pending', next_attempt_at = due.at, wake_at = due.at,
         retry_requests = retry_requests + 1
       FROM due WHERE d.id = due.id RETURNING due.at),
     paced AS (
       UPDATE webhooks SET retries_until = greatest(since, (SELECT max(at) FROM retried))
       FROM webhook WHERE webhooks.id = webhook.id)
     SELECT count(*)::integer AS count FROM retried`,
    [webhookId],
  );
  return row.count;
}
