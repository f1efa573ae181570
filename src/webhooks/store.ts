import type { Db, Tx } from '../db/db.js';
import { emptyAnswers } from '../db/answers-of-resources.js';
import { WebhookEntity, type WebhookRow } from '../db/entities/webhooks.js';
import { listResources, requireRoomFor, resourcesOf, selectRows } from '../db/resources.js';
import { runSql, sql } from '../db/sql.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { seal, unseal } from '../platform/sealed.js';
import type { WebhookEventType } from './event-types.js';

const MAX_WEBHOOKS_PER_PROJECT = 10;
/** How long the previous secret still signs after a rotation (decisions.md "Webhooks"). */
const PREVIOUS_SECRET_HOURS = 24;

export function listWebhooks(db: Db, projectId: string, page: PageRequest): Promise<PageRows<WebhookRow>> {
  return listResources(db, selectRows(resourcesOf(db, WebhookEntity, projectId)), page);
}

interface NewWebhook {
  url: string;
  event_types: WebhookEventType[];
  description: string | null;
  enabled: boolean;
}

export async function insertWebhook(
  tx: Tx,
  keys: readonly Buffer[],
  projectId: string,
  webhook: NewWebhook,
  secret: string,
): Promise<WebhookRow> {
  await requireRoomFor(tx, projectId, 'webhook', MAX_WEBHOOKS_PER_PROJECT);
  const id = newId('webhook');
  const { url, event_types, description, enabled } = webhook;
  const [row] = await runSql<WebhookRow>(
    tx,
    sql`INSERT INTO webhooks (id, project_id, url, event_types, description, enabled, secret, created_at, updated_at)
        VALUES (${id}, ${projectId}, ${url}, ${event_types}, ${description}, ${enabled},
          ${seal(keys, 'webhooks.secret', id, secret)}, statement_timestamp(), statement_timestamp())
        RETURNING *`,
  );
  return row!;
}

/**
 * Changes the given fields. Enabling the webhook or changing its url resets its failures. Returns undefined if it is
 * deleted.
 */
export async function updateWebhook(db: Db, id: string, change: Partial<NewWebhook>): Promise<WebhookRow | undefined> {
  const startsAnew = change.enabled === true || change.url !== undefined;
  const updated = await db
    .createQueryBuilder()
    .update(WebhookEntity)
    .set({
      ...change,
      ...(change.enabled === true && { disabled_reason: null }),
      ...(startsAnew && { failing_since: null }),
      updated_at: () => 'clock_timestamp()',
    })
    .where('id = :id AND deleted_at IS NULL', { id })
    .returning('*')
    .execute();
  return (updated.raw as WebhookRow[])[0];
}

/** Replaces the secret. The previous one also signs for 24 hours. Returns undefined if the webhook is deleted. */
export async function rotateSecret(
  tx: Tx,
  keys: readonly Buffer[],
  webhookId: string,
  secret: string,
): Promise<WebhookRow | undefined> {
  const [row] = await tx.query<Pick<WebhookRow, 'secret'>[]>(
    'SELECT secret FROM webhooks WHERE id = $1 AND deleted_at IS NULL FOR UPDATE',
    [webhookId],
  );
  if (row?.secret == null) return undefined;
  const previous = seal(
    keys,
    'webhooks.previous_secret',
    webhookId,
    unseal(keys, 'webhooks.secret', webhookId, row.secret),
  );
  const [rows] = await tx.query<[WebhookRow[], number]>(
    `UPDATE webhooks SET secret = $2, previous_secret = $3, updated_at = clock_timestamp(),
       previous_secret_until = clock_timestamp() + interval '${PREVIOUS_SECRET_HOURS} hours'
     WHERE id = $1 RETURNING *`,
    [webhookId, seal(keys, 'webhooks.secret', webhookId, secret), previous],
  );
  return rows[0];
}

/** Soft-deletes the webhook and erases its secrets. Returns false if it was deleted already. */
export async function deleteWebhook(tx: Tx, id: string): Promise<boolean> {
  const [, count] = await tx.query<[unknown[], number]>(
    `UPDATE webhooks SET deleted_at = clock_timestamp(), enabled = false, secret = NULL, previous_secret = NULL
     WHERE id = $1 AND deleted_at IS NULL`,
    [id],
  );
  await emptyAnswers(tx, [id]);
  return count === 1;
}
