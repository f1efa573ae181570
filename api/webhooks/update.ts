import type { FromSchema } from 'json-schema-to-ts';
import type { WebhookRow } from '../../src/db/entities/webhooks.js';
import { updateWebhook as writeWebhook } from '../../src/webhooks/store.js';
import { checkWebhookUrl } from '../../src/webhooks/url.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { descriptionField, enabledField, eventTypesField, urlField } from './fields.js';
import { presentWebhook, webhookSchema } from './present.js';
import { webhookNotFound, webhookOfPath } from './resource.js';

const body = {
  $id: 'WebhookChange',
  description: 'Changes of a webhook. Fields that are absent stay.',
  type: 'object',
  properties: {
    url: urlField,
    event_types: eventTypesField,
    description: descriptionField,
    enabled: { ...enabledField, description: `${enabledField.description} Enabling clears \`disabled_reason\`.` },
  },
  additionalProperties: false,
  examples: [{ enabled: true }],
} as const satisfies JsonSchema;

export const updateWebhook = operation<FromSchema<typeof body>, WebhookRow>({
  id: 'updateWebhook',
  summary: 'Change the given fields of a webhook',
  description: 'Changes the fields that the body has. Use it to enable a webhook again that was disabled.',
  body,
  idempotent: true,
  success: { status: 200, description: 'The changed webhook.', schema: webhookSchema },
  errors: ['webhook_not_found', 'invalid_webhook_url'],
  resource: webhookOfPath,
  async handle(call) {
    const { deps, resource, body } = call;
    if (body.url !== undefined) await checkWebhookUrl(deps.mcpNetwork, body.url);
    return answerInTransaction(call, async (tx) => {
      const isChange = Object.keys(body).length > 0;
      const webhook = isChange ? await writeWebhook(tx, resource.id, body) : resource;
      return presentWebhook(webhook ?? webhookNotFound());
    });
  },
});
