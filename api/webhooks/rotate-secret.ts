import { transaction } from '../../src/db/transaction.js';
import { newSecret } from '../../src/webhooks/sign.js';
import { rotateSecret } from '../../src/webhooks/store.js';
import { operation } from '../http/core/operation.js';
import { webhookWithSecretSchema } from './present.js';
import { webhookNotFound, webhookOfPath } from './resource.js';
import { answerWithSecret, replaySecret } from './secret-answer.js';

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  summary: 'Replace the secret; for 24 hours the old one also signs',
  description:
    'Use it when the secret may be known to others. For 24 hours deliveries have signatures of both secrets, so that receivers can change over.',
  idempotent: true,
  success: {
    status: 200,
    description: 'The webhook with its new secret, which is not shown again.',
    schema: webhookWithSecretSchema,
  },
  errors: ['webhook_not_found'],
  resource: webhookOfPath,
  async handle(call) {
    const { deps, resource } = call;
    const secret = newSecret();
    return transaction(deps.db, async (tx) => {
      const webhook = await rotateSecret(tx, deps.config.encryptionKeys, resource.id, secret);
      return answerWithSecret(tx, call, webhook ?? webhookNotFound(), secret);
    });
  },
  replay: replaySecret,
});
