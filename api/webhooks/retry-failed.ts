import { count } from '../../src/events/fields.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import { transaction } from '../../src/db/transaction.js';
import { retryFailed } from '../../src/webhooks/retry-failed.js';
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
  async handle({ deps, resource, record }) {
    requireEnabled(resource);
    return transaction(deps.db, async (tx) => {
      const answer = { count: await retryFailed(tx, resource.id) };
      await record(tx, answer);
      return answer;
    });
  },
});
