import { insertTestDelivery } from '../../src/webhooks/deliveries.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation } from '../http/core/operation.js';
import { deliverySchema, presentDelivery } from './present.js';
import { requireEnabled, webhookOfPath } from './resource.js';

export const testWebhook = operation({
  id: 'testWebhook',
  summary: 'Send a webhook.test delivery',
  description: 'Sends a payload of type `webhook.test` to see whether the receiver answers and verifies the signature.',
  idempotent: true,
  success: { status: 202, description: 'The delivery. It is sent now.', schema: deliverySchema },
  errors: ['webhook_not_found', 'webhook_disabled'],
  resource: webhookOfPath,
  async handle(call) {
    requireEnabled(call.resource);
    return answerInTransaction(call, async (tx) => presentDelivery(await insertTestDelivery(tx, call.resource)));
  },
});
