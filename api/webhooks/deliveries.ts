import { described } from '../../src/platform/object-schema.js';
import { listDeliveries, type DeliveryState } from '../../src/webhooks/deliveries.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { deliverySchema, deliveryState, presentDelivery } from './present.js';
import { webhookOfPath } from './resource.js';

export const listWebhookDeliveries = operation({
  id: 'listWebhookDeliveries',
  summary: 'List the deliveries of a webhook, newest first; kept for 30 days',
  description: 'Shows what was sent, with each attempt and its result.',
  paged: true,
  query: {
    type: 'object',
    properties: { state: described(deliveryState, 'Only deliveries in this state.') },
  },
  success: { status: 200, description: 'A page of deliveries.', schema: pageSchema(deliverySchema) },
  errors: ['webhook_not_found'],
  resource: webhookOfPath,
  async handle({ deps, resource, query }) {
    const state = query.state as DeliveryState | undefined;
    const list = `webhook-deliveries:${resource.id}${state === undefined ? '' : `:${state}`}`;
    return newestPage(query, list, (page) => listDeliveries(deps.db, resource.id, page, state), presentDelivery);
  },
});
