import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../platform/errors.js';

/** Builds a link for the local storage: the path and query after the public address. */
export function signedPath(fileId: string, expires: number, keys: Buffer[]): string {
  return `/files/${fileId}?expires=${expires}&signature=${signature(fileId, String(expires), keys[0]!)}`;
}

/**
 * Verifies a link. Every configured key is accepted, so that links survive a key rotation (decisions.md "Running it"
 * ENCRYPTION_KEY).
 * @throws ServiceError `invalid_link` if altered or expired
 */
export function verifyLink(
  fileId: string,
  query: Record<string, string | undefined>,
  keys: Buffer[],
  now: number = Date.now(),
): void {
  const { expires = '', signature: given = '' } = query;
  const genuine = keys.some((key) => sameText(given, signature(fileId, expires, key)));
  if (!genuine) throw new ServiceError('invalid_link', 'This download link is not valid. Ask for a new one.');
  if (Number(expires) * 1000 <= now) {
    throw new ServiceError('invalid_link', 'This download link has expired. Ask for a new one.');
  }
}

function signature(fileId: string, expires: string, key: Buffer): string {
  // A derived key: a flaw in link signing must not endanger the credentials sealed with ENCRYPTION_KEY.
  const linkKey = Buffer.from(hkdfSync('sha256', key, '', 'download-link', 32));
  return createHmac('sha256', linkKey).update(`${fileId}\n${expires}`).digest('base64url');
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
