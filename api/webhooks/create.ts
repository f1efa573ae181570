import { objectSchema } from '../../src/platform/object-schema.js';
import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { newSecret } from '../../src/webhooks/sign.js';
import { insertWebhook } from '../../src/webhooks/store.js';
import { checkWebhookUrl } from '../../src/webhooks/url.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { webhookRequest } from '../http/openapi/openapi-webhooks.js';
import { descriptionField, enabledField, eventTypesField, urlField } from './fields.js';
import { webhookWithSecretSchema } from './present.js';
import { answerWithSecret, replaySecret } from './secret-answer.js';

const body = {
  $id: 'NewWebhook',
  description: 'An address, and what is sent to it.',
  ...objectSchema(
    { url: urlField, event_types: eventTypesField },
    { description: { ...descriptionField, default: null }, enabled: { ...enabledField, default: true } },
  ),
  examples: [{ url: 'https://example.com/agent-events', event_types: ['turn.completed', 'turn.failed'] }],
} as const satisfies JsonSchema;

export const createWebhook = operation<FromSchema<typeof body>>({
  id: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'Registers an address that gets a signed POST for each event of the given types in the project. At most 10 in a project.',
  body,
  idempotent: true,
  // Some generators leave out what only `webhooks` of the document refers to.
  callbacks: { event: { '{$request.body#/url}': webhookRequest('webhookEventOfUrl') } },
  success: {
    status: 201,
    description: 'The webhook with its secret, which is not shown again.',
    schema: webhookWithSecretSchema,
  },
  errors: ['invalid_webhook_url', 'webhook_limit_reached'],
  async handle(call) {
    const { deps, caller, body } = call;
    await checkWebhookUrl(deps.mcpNetwork, body.url);
    const secret = newSecret();
    return transaction(deps.db, async (tx) => {
      const webhook = await insertWebhook(tx, deps.config.encryptionKeys, caller.projectId, body, secret);
      return answerWithSecret(tx, call, webhook, secret);
    });
  },
  replay: replaySecret,
});
