import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Every column with sealed secrets, as `table.column`. `npm run reencrypt` goes through all of them. */
export const SEALED_COLUMNS = [
  'mcp_servers.credential',
  'user_credentials.credential',
  'mcp_oauth.client',
  'mcp_oauth.tokens',
  'mcp_oauth.code_verifier',
  'webhooks.secret',
  'webhooks.previous_secret',
] as const;
export type SealedColumn = (typeof SEALED_COLUMNS)[number];

const FORM = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** No key opens the sealed secret: a key is missing in ENCRYPTION_KEY, or the row was altered. */
export class UnsealError extends Error {
  override readonly name = 'UnsealError';
  constructor() {
    super('the stored secret cannot be opened with the configured ENCRYPTION_KEY');
  }
}

/**
 * Encrypts a secret with the newest key by AES-256-GCM (decisions.md "Webhooks").
 * The result starts with the key's id, so that keys can be rotated. Column and row id are associated data: a sealed
 * secret copied to another row or column does not open.
 */
export function seal(keys: readonly Buffer[], column: SealedColumn, rowId: string, secret: string): string {
  const [key] = keys;
  if (key === undefined) throw new UnsealError();
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(associatedData(column, rowId));
  const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${FORM}.${keyId(key)}.${sealed.toString('base64url')}`;
}

/** @throws UnsealError */
export function unseal(keys: readonly Buffer[], column: SealedColumn, rowId: string, sealed: string): string {
  const [form, id, text = ''] = sealed.split('.');
  const key = keys.find((candidate) => keyId(candidate) === id);
  const bytes = Buffer.from(text, 'base64url');
  // The last character of base64url can have unused bits. Only the canonical spelling is accepted.
  const isCanonical = bytes.toString('base64url') === text;
  if (form !== FORM || key === undefined || !isCanonical || bytes.length < IV_BYTES + TAG_BYTES)
    throw new UnsealError();
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(associatedData(column, rowId))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    throw new UnsealError();
  }
}

export function isSealedWithNewest(keys: readonly Buffer[], sealed: string): boolean {
  return keys[0] !== undefined && sealed.startsWith(`${FORM}.${keyId(keys[0])}.`);
}

/** The string is hashed into every stored key id: a change would make all stored ids unknown. */
function keyId(key: Buffer): string {
  return createHash('sha256').update('mcp credential key id').update(key).digest('hex').slice(0, 12);
}

function associatedData(column: SealedColumn, rowId: string): Buffer {
  return Buffer.from(`${column}:${rowId}`);
}
