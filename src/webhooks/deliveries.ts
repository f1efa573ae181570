import type { Db, Tx } from '../db/db.js';
import type { WebhookRow } from '../db/entities/webhooks.js';
import { readPage } from '../db/read-page.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { TEST_EVENT_TYPE } from './event-types.js';

/** How long deliveries are kept (decisions.md "Webhooks"). */
const KEPT = "interval '30 days'";

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface DeliveryAttempt {
  at: string;
  /** HTTP status; null without a response. */
  status: number | null;
  /** Why it failed; null after a success. */
  error: string | null;
  duration_ms: number;
}

interface DeliveryRow {
  id: string;
  event_type: string;
  event_id: string | null;
  session_id: string | null;
  turn_id: string | null;
  state: DeliveryState;
  attempts: DeliveryAttempt[];
  next_attempt_at: string | null;
  created_at: string;
}

const SHOWN = 'id, event_type, event_id, session_id, turn_id, state, attempts, next_attempt_at, created_at';

export async function listDeliveries(
  db: Db,
  webhookId: string,
  { limit, after }: PageRequest,
  state?: DeliveryState,
): Promise<PageRows<DeliveryRow>> {
  return readPage<DeliveryRow>(db, {
    query: `SELECT ${SHOWN} FROM webhook_deliveries WHERE webhook_id = $1 ${state === undefined ? '' : 'AND state = $5'}
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    values: [webhookId, after?.[0] ?? null, after?.[1] ?? null, limit + 1, ...(state === undefined ? [] : [state])],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

export async function hasDelivery(db: Db, webhookId: string, id: string): Promise<boolean> {
  const rows = await db.query<unknown[]>('SELECT FROM webhook_deliveries WHERE id = $1 AND webhook_id = $2', [
    id,
    webhookId,
  ]);
  return rows.length > 0;
}

/** Stores a `webhook.test` delivery. The reconciler starts its workflow, as for every delivery. */
export async function insertTestDelivery(tx: Tx, webhook: WebhookRow): Promise<DeliveryRow> {
  const [row] = await tx.query<DeliveryRow[]>(
    `INSERT INTO webhook_deliveries (id, webhook_id, project_id, event_type, next_attempt_at, wake_at, created_at)
     SELECT $1, $2, $3, $4, now, now, now FROM clock_timestamp() AS now RETURNING ${SHOWN}`,
    [newId('delivery'), webhook.id, webhook.project_id, TEST_EVENT_TYPE],
  );
  return row!;
}

/** Makes a delivery due now, in any state. Returns undefined if maintenance has removed it. */
export async function requestRetry(tx: Tx, id: string): Promise<DeliveryRow | undefined> {
  const [rows] = await tx.query<[DeliveryRow[], number]>(
    `UPDATE webhook_deliveries SET state = 'pending', next_attempt_at = now, wake_at = now,
       retry_requests = retry_requests + 1
     FROM clock_timestamp() AS now WHERE id = $1 RETURNING ${SHOWN}`,
    [id],
  );
  return rows[0];
}

/** Removes at most `limit` deliveries older than 30 days; returns their number. */
export async function deleteOldDeliveries(db: Db, limit: number): Promise<number> {
  const [, count] = await db.query<[unknown[], number]>(
    `DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(
       SELECT id FROM webhook_deliveries WHERE created_at < now() - ${KEPT} ORDER BY created_at
       LIMIT $1 FOR UPDATE SKIP LOCKED))`,
    [limit],
  );
  return count;
}
