import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

const SECRET_BYTES = 32;

/** Generates a secret in the form of the Standard Webhooks specification. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** The headers of the Standard Webhooks specification, with one signature per secret. */
export function signatureHeaders(
  secrets: readonly string[],
  deliveryId: string,
  sentAt: Date,
  body: string,
): Record<string, string> {
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(deliveryId, sentAt, body)).join(' '),
  };
}
