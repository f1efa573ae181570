import { described, objectSchema } from '../../src/platform/object-schema.js';
import { count } from '../../src/platform/schema-fields.js';
import { retryFailed } from '../../src/webhooks/retry-failed.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation } from '../http/core/operation.js';
import { requireEnabled, webhookOfPath } from './resource.js';

export const retryFailedWebhookDeliveries = operation({
  id: 'retryFailedWebhookDeliveries',
  summary: 'Send the failed deliveries of a webhook again',
  description:
    'Use it after the receiver was away for long: it sends every failed delivery of the webhook again, oldest first.',
  idempotent: true,
  success: {
    status: 202,
    description:
      'Number of deliveries that are sent again, oldest first. If it is 10,000, there may be more: send the request again.',
    schema: {
      $id: 'RetriedDeliveries',
      description: 'How many deliveries are sent again.',
      ...objectSchema({ count: described(count, 'Number of deliveries; at most 10,000.') }),
      examples: [{ count: 17 }],
    },
  },
  errors: ['webhook_not_found', 'webhook_disabled', 'too_many_requests'],
  resource: webhookOfPath,
  async handle(call) {
    requireEnabled(call.resource);
    const { id, project_id: projectId } = call.resource;
    return call.deps.longWrites.within(projectId, call.ctx.res, () =>
      answerInTransaction(call, async (tx) => ({ count: await retryFailed(tx, id) })),
    );
  },
});
