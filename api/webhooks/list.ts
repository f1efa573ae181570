import { listWebhooks as readWebhooks } from '../../src/webhooks/store.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { presentWebhook, webhookSchema } from './present.js';

export const listWebhooks = operation({
  id: 'listWebhooks',
  summary: 'List webhooks, newest first',
  description: 'Shows the registered webhooks, without their secrets.',
  paged: true,
  success: { status: 200, description: 'A page of webhooks.', schema: pageSchema(webhookSchema) },
  errors: [],
  handle: ({ deps, caller, query }) =>
    newestPage(query, 'webhooks', (page) => readWebhooks(deps.db, caller.projectId, page), presentWebhook),
});
