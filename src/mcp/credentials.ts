import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const FORM = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A sealed credential that none of the keys opens: ENCRYPTION_KEY has lost a key, or the row was altered. */
export class UnsealError extends Error {
  override readonly name = 'UnsealError';
  constructor() {
    super('the stored credential cannot be opened with the configured ENCRYPTION_KEY');
  }
}

/**
 * Encrypts a credential with the newest key (spec.md "MCP server", auth: stored encrypted): AES-256-GCM, the key's id in
 * front so that keys can be rotated, and the row's id as associated data, so that a sealed credential copied to another
 * row does not open there.
 */
export function seal(keys: readonly Buffer[], rowId: string, secret: string): string {
  const [key] = keys;
  if (key === undefined) throw new UnsealError();
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(associated(rowId));
  const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${FORM}.${keyId(key)}.${sealed.toString('base64url')}`;
}

/** @throws UnsealError */
export function unseal(keys: readonly Buffer[], rowId: string, sealed: string): string {
  const [form, id, text = ''] = sealed.split('.');
  const key = keys.find((candidate) => keyId(candidate) === id);
  const bytes = Buffer.from(text, 'base64url');
  // The last character of base64url may hold bits that mean nothing: only the one spelling is taken.
  const isCanonical = bytes.toString('base64url') === text;
  if (form !== FORM || key === undefined || !isCanonical || bytes.length < IV_BYTES + TAG_BYTES)
    throw new UnsealError();
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(associated(rowId))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    throw new UnsealError();
  }
}

/** True when the credential was sealed with the newest key. */
export function isSealedWithNewest(keys: readonly Buffer[], sealed: string): boolean {
  return keys[0] !== undefined && sealed.startsWith(`${FORM}.${keyId(keys[0])}.`);
}

function keyId(key: Buffer): string {
  return createHash('sha256').update('mcp credential key id').update(key).digest('hex').slice(0, 12);
}

function associated(rowId: string): Buffer {
  return Buffer.from(`mcp_servers.credential:${rowId}`);
}
