import type { Tx } from '../../src/db/db.js';
import type { WebhookRow } from '../../src/db/entities/webhooks.js';
import { unseal } from '../../src/platform/sealed.js';
import type { Call } from '../http/core/operation.js';
import { presentWebhook } from './present.js';

/**
 * Records the response of an operation that shows a secret, and returns it. The record contains the sealed secret: no
 * table holds a secret in plain text.
 */
export async function answerWithSecret(
  tx: Tx,
  call: Pick<Call, 'record'>,
  webhook: WebhookRow,
  secret: string,
): Promise<Record<string, unknown>> {
  const answer = presentWebhook(webhook);
  await call.record(tx, { ...answer, secret: webhook.secret });
  return { ...answer, secret };
}

export function replaySecret({ deps }: Pick<Call, 'deps'>, recorded: unknown): unknown {
  const answer = recorded as { id: string; secret: string };
  return { ...answer, secret: unseal(deps.config.encryptionKeys, 'webhooks.secret', answer.id, answer.secret) };
}
