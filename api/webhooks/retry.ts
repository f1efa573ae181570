import { transaction } from '../../src/db/transaction.js';
import { requestRetry } from '../../src/webhooks/deliveries.js';
import { operation } from '../http/core/operation.js';
import { deliverySchema, presentDelivery } from './present.js';
import { deliveryNotFound, requireEnabled, webhookOfDelivery } from './resource.js';

export const retryWebhookDelivery = operation({
  id: 'retryWebhookDelivery',
  summary: 'Send a delivery again now, in any state',
  idempotent: true,
  success: { status: 202, description: 'The delivery. It is sent now.', schema: deliverySchema },
  errors: ['webhook_not_found', 'delivery_not_found', 'webhook_disabled'],
  resource: webhookOfDelivery,
  async handle({ deps, resource, params, record }) {
    requireEnabled(resource);
    return transaction(deps.db, async (tx) => {
      const delivery = await requestRetry(tx, params.delivery_id!);
      const answer = presentDelivery(delivery ?? deliveryNotFound());
      await record(tx, answer);
      return answer;
    });
  },
});
