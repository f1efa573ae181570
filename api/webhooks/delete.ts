import { transaction } from '../../src/db/transaction.js';
import { deleteWebhook as removeWebhook } from '../../src/webhooks/store.js';
import { operation } from '../http/core/operation.js';
import { webhookNotFound, webhookOfPath } from './resource.js';

export const deleteWebhook = operation({
  id: 'deleteWebhook',
  summary: 'Delete a webhook; its pending deliveries are not sent',
  description: 'Removes the webhook and its secret.',
  success: { status: 204, description: 'Deleted.' },
  errors: ['webhook_not_found'],
  resource: webhookOfPath,
  async handle({ deps, resource, record }) {
    await transaction(deps.db, async (tx) => {
      if (!(await removeWebhook(tx, resource.id))) webhookNotFound();
      await record(tx);
    });
  },
});
