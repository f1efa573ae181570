import type { EntityManager } from 'typeorm';

/** Limit of one request. */
const MAX_RETRIED = 10_000;
/** Limit of one statement: all of them at once can take longer than a statement may on a busy Postgres. */
const BATCH = 1000;
/**
 * Deliveries that become due each second: many at once would delay the retries of other projects. First attempts have a
 * limit of their own (start-deliveries).
 */
const RETRIED_PER_SECOND = 50;

/** Makes the failed deliveries of a webhook due again, the oldest first. Returns their number. */
export async function retryFailed(tx: EntityManager, webhookId: string): Promise<number> {
  let retried = 0;
  while (retried < MAX_RETRIED) {
    const [, count] = await tx.query<[unknown[], number]>(
      `WITH failed AS (
         SELECT id, attempt_count FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'failed'
         ORDER BY created_at, id LIMIT ${BATCH} FOR UPDATE),
       due AS (
         SELECT id, now() + CASE attempt_count WHEN 0 THEN '0'
           ELSE ($2 + row_number() OVER () - 1) / ${RETRIED_PER_SECOND} * interval '1 second' END AS at
         FROM failed)
       UPDATE webhook_deliveries d SET state = 'pending', next_attempt_at = due.at, wake_at = due.at,
         retry_requests = retry_requests + 1
       FROM due WHERE d.id = due.id`,
      [webhookId, retried],
    );
    retried += count;
    if (count < BATCH) break;
  }
  return retried;
}
