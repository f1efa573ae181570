import type { Db } from '../db/transaction.js';

/** Limit of one request, so that its statement takes a second or two. */
const MAX_RETRIED = 10_000;
/**
 * Deliveries that become due each second: many at once would delay the retries of other projects. First attempts have a
 * limit of their own (start-deliveries).
 */
const RETRIED_PER_SECOND = 50;

/** Makes the failed deliveries of a webhook due again, the oldest first. Returns their number. */
export async function retryFailed(db: Db, webhookId: string): Promise<number> {
  const [, count] = await db.query<[unknown[], number]>(
    `WITH failed AS (
       SELECT id, attempt_count FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'failed'
       ORDER BY created_at, id LIMIT ${MAX_RETRIED} FOR UPDATE),
     due AS (
       SELECT id, now.at + CASE attempt_count WHEN 0 THEN '0'
         ELSE (row_number() OVER () - 1) / ${RETRIED_PER_SECOND} * interval '1 second' END AS at
       FROM failed, clock_timestamp() AS now (at))
     UPDATE webhook_deliveries d SET state = 'pending', next_attempt_at = due.at, wake_at = due.at,
       retry_requests = retry_requests + 1
     FROM due WHERE d.id = due.id`,
    [webhookId],
  );
  return count;
}
