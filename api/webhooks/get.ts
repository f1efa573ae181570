import { operation } from '../http/core/operation.js';
import { presentWebhook, webhookSchema } from './present.js';
import { webhookOfPath } from './resource.js';

export const getWebhook = operation({
  id: 'getWebhook',
  summary: 'Get a webhook',
  description: 'Shows one webhook without its secret. `disabled_reason` says why the service disabled it.',
  success: { status: 200, description: 'The webhook.', schema: webhookSchema },
  errors: ['webhook_not_found'],
  resource: webhookOfPath,
  handle: async ({ resource }) => presentWebhook(resource),
});
