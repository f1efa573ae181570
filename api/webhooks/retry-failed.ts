import { count } from '../../src/events/fields.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import { retryFailed } from '../../src/webhooks/retry-failed.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation } from '../http/core/operation.js';
import { requireEnabled, webhookOfPath } from './resource.js';

export const retryFailedWebhookDeliveries = operation({
  id: 'retryFailedWebhookDeliveries',
  summary: 'Send the failed deliveries of a webhook again',
  idempotent: true,
  success: {
    status: 202,
    description:
      'Number of deliveries that are sent again, oldest first. If it is 10,000, there may be more: send the request again.',
    schema: objectSchema({ count }),
  },
  errors: ['webhook_not_found', 'webhook_disabled'],
  resource: webhookOfPath,
  async handle(call) {
    requireEnabled(call.resource);
    return answerInTransaction(call, async (tx) => ({ count: await retryFailed(tx, call.resource.id) }));
  },
});
