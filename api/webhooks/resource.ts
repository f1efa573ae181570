import { WebhookEntity, type WebhookRow } from '../../src/db/entities/webhooks.js';
import { findResource } from '../../src/db/resources.js';
import { ServiceError } from '../../src/platform/errors.js';
import { hasDelivery } from '../../src/webhooks/deliveries.js';
import { resourceOfPath, type PathOf } from '../http/core/resource.js';

export const webhookOfPath = resourceOfPath<WebhookRow>(
  'webhook_id',
  (db, projectId, id) => findResource(db, WebhookEntity, projectId, id),
  webhookNotFound,
);

/** @throws ServiceError `webhook_not_found`, `delivery_not_found` */
export async function webhookOfDelivery(path: PathOf): Promise<WebhookRow> {
  const webhook = await webhookOfPath(path);
  if (!(await hasDelivery(path.deps.db, webhook.id, path.params.delivery_id!))) deliveryNotFound();
  return webhook;
}

export function webhookNotFound(): never {
  throw new ServiceError('webhook_not_found', 'There is no such webhook.');
}

export function deliveryNotFound(): never {
  throw new ServiceError('delivery_not_found', 'There is no such delivery of this webhook.');
}

/** @throws ServiceError `webhook_disabled` */
export function requireEnabled(webhook: WebhookRow): void {
  if (webhook.enabled) return;
  throw new ServiceError('webhook_disabled', 'The webhook is disabled. Enable it first: PATCH with {"enabled": true}.');
}
