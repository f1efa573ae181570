import { pageOf } from '../../src/platform/page.js';
import { listWebhooks as readWebhooks } from '../../src/webhooks/store.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, pageSchema } from '../http/core/page.js';
import { presentWebhook, webhookSchema } from './present.js';

export const listWebhooks = operation({
  id: 'listWebhooks',
  summary: 'List webhooks, newest first',
  paged: true,
  success: { status: 200, description: 'A page of webhooks.', schema: pageSchema(webhookSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const request = newestFirst(query, 'webhooks');
    const webhooks = await readWebhooks(deps.db, caller.projectId, request);
    return pageOf('webhooks', webhooks, ({ created_at, id }) => [created_at, id], presentWebhook);
  },
});
