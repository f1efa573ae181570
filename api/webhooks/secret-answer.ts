import type { EntityManager } from 'typeorm';
import type { WebhookRow } from '../../src/db/entities/webhooks.js';
import { unseal } from '../../src/platform/sealed.js';
import type { Call } from '../http/operation.js';
import { presentWebhook } from './present.js';

/**
 * Records the answer of an operation that shows a secret, and returns it. The record holds the sealed form: no table has
 * a secret in the clear.
 */
export async function answerWithSecret(
  tx: EntityManager,
  call: Pick<Call, 'record'>,
  webhook: WebhookRow,
  secret: string,
): Promise<Record<string, unknown>> {
  const answer = presentWebhook(webhook);
  await call.record(tx, { ...answer, secret: webhook.secret });
  return { ...answer, secret };
}

/** Opens the secret of a recorded answer. */
export function replaySecret({ deps }: Pick<Call, 'deps'>, recorded: unknown): unknown {
  const answer = recorded as { id: string; secret: string };
  return { ...answer, secret: unseal(deps.config.encryptionKeys, 'webhooks.secret', answer.id, answer.secret) };
}
