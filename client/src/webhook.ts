import type { WebhookPayload } from './types.js';

/** How far `webhook-timestamp` may be from this machine's clock. */
const TOLERANCE_SECONDS = 300;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from this machine's clock. Default: 300. */
  toleranceSeconds?: number;
}

/** The headers of a request: those of `fetch`, or of Node's `IncomingMessage`. */
export type WebhookHeaders = Headers | HeaderRecord;
type HeaderRecord = Record<string, string | string[] | undefined>;

/** A webhook request that is not from the service, or too old: answer 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/**
 * Checks the signature and the age of a webhook request and returns its payload.
 * @param body The body as it came: the signature is of these bytes.
 * @param secrets The webhook's secret (`whsec_…`); several while you move from one to another.
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS }: VerifyOptions = {},
): Promise<WebhookPayload> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature')
    .split(' ')
    .flatMap((part) => (part.startsWith('v1,') ? (bytesOf(part.slice(3)) ?? []) : []));
  const age = Date.now() / 1000 - (/^\d{1,12}$/.test(timestamp) ? Number(timestamp) : NaN);
  // NaN is not within the tolerance either.
  if (!(Math.abs(age) <= toleranceSeconds)) {
    throw new WebhookVerificationError('webhook-timestamp is too far from the time of this machine.');
  }
  const content = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), content);
  for (const secret of [secrets].flat()) {
    const key = await keyOf(secret);
    for (const signature of signatures) {
      // Web Crypto compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) {
        return JSON.parse(new TextDecoder().decode(content)) as WebhookPayload;
      }
    }
  }
  throw new WebhookVerificationError('No signature of webhook-signature is one of this secret.');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = typeof headers.get === 'function' ? (headers as Headers).get(name) : (headers as HeaderRecord)[name];
  if (typeof value !== 'string') throw new WebhookVerificationError(`The request has no header ${name}.`);
  return value;
}

async function keyOf(secret: string) {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  if (bytes === null || bytes.length === 0) throw new TypeError('The secret is not whsec_ and base64.');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function joined(head: Uint8Array, rest: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(head.length + rest.length);
  whole.set(head);
  whole.set(rest, head.length);
  return whole;
}

/** Returns null if it is not base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}
