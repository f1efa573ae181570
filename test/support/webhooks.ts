import { expect } from 'chai';
import type { Database } from '../../src/db/db.js';
import type { ApiCall } from './client.js';
import { eventually } from './eventually.js';
import { allItems } from './pages.js';

const BATCH = 20_000;

/** A delivery as the API shows it. */
export interface ShownDelivery {
  id: string;
  event_type: string;
  event_id: string | null;
  state: string;
  attempts: { at: string; status: number | null; error: string | null; duration_ms: number }[];
  next_attempt_at: string | null;
  created_at: string;
}

/** What tests of deliveries do with webhooks through the API. */
export interface WebhookCalls {
  /** Creates a webhook, by default for `turn.completed`. */
  create(body?: Record<string, unknown>): Promise<{ id: string; secret: string }>;
  /** POST test; returns the id of the delivery. */
  test(webhookId: string): Promise<string>;
  deliveries(webhookId: string): Promise<ShownDelivery[]>;
  delivery(webhookId: string, id: string): Promise<ShownDelivery>;
  /** Waits until the delivery fulfils the condition; returns it. */
  until(webhookId: string, id: string, holds: (delivery: ShownDelivery) => boolean): Promise<ShownDelivery>;
  inState(webhookId: string, id: string, state: string): Promise<ShownDelivery>;
}

/** `url`: the receiver's. */
export function webhookCalls(api: ApiCall, url: string): WebhookCalls {
  const calls: WebhookCalls = {
    async create(body = {}) {
      const answer = await api('POST', '/v1/webhooks', { url, event_types: ['turn.completed'], ...body });
      expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
      return answer.body as { id: string; secret: string };
    },
    async test(webhookId) {
      const { status, body } = await api('POST', `/v1/webhooks/${webhookId}/test`);
      expect(status, JSON.stringify(body)).to.equal(202);
      return body.id as string;
    },
    deliveries: (webhookId) => allItems(api, `/v1/webhooks/${webhookId}/deliveries?limit=100`),
    async delivery(webhookId, id) {
      return (await calls.deliveries(webhookId)).find((delivery) => delivery.id === id)!;
    },
    async until(webhookId, id, holds) {
      let found: ShownDelivery | undefined;
      await eventually(`delivery ${id}`, async () => holds((found = await calls.delivery(webhookId, id))));
      return found!;
    },
    inState: (webhookId, id, state) => calls.until(webhookId, id, (delivery) => delivery.state === state),
  };
  return calls;
}

/**
 * Stores deliveries of a webhook that are due and that no workflow has taken up yet, as a burst of events leaves them, or
 * a request to send failed ones again.
 */
export async function insertBacklog(db: Database, webhookId: string, count: number, attempts = 0): Promise<void> {
  for (let from = 1; from <= count; from += BATCH) {
    await db.query(
      `INSERT INTO webhook_deliveries
         (id, webhook_id, project_id, event_type, event_id, session_id, turn_id, attempt_count, next_attempt_at, wake_at,
          created_at)
       SELECT 'dlv_' || n || id, id, project_id, 'turn.completed', 'evt_' || n, 'ses_' || n, 'turn_' || n, $4, now(), now(),
         now()
       FROM webhooks, generate_series($2::integer, $3::integer) AS n WHERE id = $1`,
      [webhookId, from, Math.min(from + BATCH - 1, count), attempts],
    );
  }
}
