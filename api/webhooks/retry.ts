import { requestRetry } from '../../src/webhooks/deliveries.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation } from '../http/core/operation.js';
import { deliverySchema, presentDelivery } from './present.js';
import { deliveryNotFound, requireEnabled, webhookOfDelivery } from './resource.js';

export const retryWebhookDelivery = operation({
  id: 'retryWebhookDelivery',
  summary: 'Send a delivery again now, in any state',
  description: 'Sends one delivery again with the same `webhook-id`, also one that was delivered.',
  idempotent: true,
  success: { status: 202, description: 'The delivery. It is sent now.', schema: deliverySchema },
  errors: ['webhook_not_found', 'delivery_not_found', 'webhook_disabled'],
  resource: webhookOfDelivery,
  async handle(call) {
    requireEnabled(call.resource);
    return answerInTransaction(call, async (tx) =>
      presentDelivery((await requestRetry(tx, call.params.delivery_id!)) ?? deliveryNotFound()),
    );
  },
});
