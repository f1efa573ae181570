import { pageOf } from '../../src/platform/page.js';
import { DELIVERY_STATES, listDeliveries, type DeliveryState } from '../../src/webhooks/deliveries.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, pageSchema } from '../http/core/page.js';
import { deliverySchema, presentDelivery } from './present.js';
import { webhookOfPath } from './resource.js';

export const listWebhookDeliveries = operation({
  id: 'listWebhookDeliveries',
  summary: 'List the deliveries of a webhook, newest first; kept for 30 days',
  paged: true,
  query: {
    type: 'object',
    properties: { state: { type: 'string', enum: DELIVERY_STATES, description: 'Only deliveries in this state.' } },
  },
  success: { status: 200, description: 'A page of deliveries.', schema: pageSchema(deliverySchema) },
  errors: ['webhook_not_found'],
  resource: webhookOfPath,
  async handle({ deps, resource, query }) {
    const state = query.state as DeliveryState | undefined;
    const list = `webhook-deliveries:${resource.id}${state === undefined ? '' : `:${state}`}`;
    const request = newestFirst(query, list);
    const deliveries = await listDeliveries(deps.db, resource.id, request, state);
    return pageOf(list, deliveries, ({ created_at, id }) => [created_at, id], presentDelivery);
  },
});
