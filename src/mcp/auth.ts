import type { McpAuthType, McpServerRow } from '../db/entities/mcp-servers.js';
import { validationError } from '../platform/errors.js';
import { unseal, type SealedColumn } from '../platform/sealed.js';

/** `auth` of type OAUTH as a client sends it. */
export interface OauthInput {
  client_id?: string;
  client_secret?: string;
  scopes?: string[];
}

/**
 * `auth` from the client (docs/mcp.md, decisions.md "OAuth"). The operation's schema has checked its types.
 */
export interface AuthInput extends OauthInput {
  type?: McpAuthType;
  token?: string;
  name?: string;
  value?: string;
}

/** A credential in plain text. Keep it only while building a request. */
export interface Credential {
  type: McpAuthType;
  /** Header name for type HEADER. */
  header: string | null;
  secret: string | null;
}

export const NO_CREDENTIAL: Credential = { type: 'NONE', header: null, secret: null };

const FIELD_NAMES = ['token', 'name', 'value', 'client_id', 'client_secret', 'scopes'] as const;
type FieldName = (typeof FIELD_NAMES)[number];

const FIELDS: Record<McpAuthType, { required: readonly FieldName[]; optional: readonly FieldName[] }> = {
  NONE: { required: [], optional: [] },
  BEARER: { required: ['token'], optional: [] },
  HEADER: { required: ['name', 'value'], optional: [] },
  OAUTH: { required: [], optional: ['client_id', 'client_secret', 'scopes'] },
};

/** RFC 9110 §5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** Visible ASCII with inner spaces and tabs: all servers read it alike. No CR or LF. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const MAX_SECRET_LENGTH = 8192;

/** Headers that the transport sets itself, or that are hop-by-hop. A credential there would break the request. */
const RESERVED = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
]);

/**
 * Parses `auth`: exactly the fields of its type, with values that a header can carry.
 * @throws ServiceError `validation_error` that names the field
 */
export function readAuth(auth: AuthInput | undefined): Credential {
  if (auth === undefined) return NO_CREDENTIAL;
  const type = auth.type ?? 'NONE';
  const { required, optional } = FIELDS[type];
  for (const field of FIELD_NAMES) {
    if (required.includes(field) && auth[field] === undefined) {
      throw validationError(`/auth/${field}`, `is required for type ${type}`);
    }
    if (!required.includes(field) && !optional.includes(field) && auth[field] !== undefined) {
      throw validationError(`/auth/${field}`, `is not a field of type ${type}`);
    }
  }
  if (type === 'OAUTH') {
    if (auth.client_secret !== undefined && auth.client_id === undefined) {
      throw validationError('/auth/client_secret', 'needs client_id');
    }
    return { type, header: null, secret: null };
  }
  if (type === 'BEARER') return { type, header: null, secret: headerValue('/auth/token', auth.token!) };
  if (type === 'HEADER') {
    return { type, header: headerName(auth.name!), secret: headerValue('/auth/value', auth.value!) };
  }
  return NO_CREDENTIAL;
}

/** Unseals the row's credential just before it is sent. @throws UnsealError */
export function credentialOf(
  keys: readonly Buffer[],
  row: Pick<McpServerRow, 'id' | 'auth_type' | 'auth_header' | 'credential'>,
  column: SealedColumn = 'mcp_servers.credential',
): Credential {
  const secret = row.credential === null ? null : unseal(keys, column, row.id, row.credential);
  return { type: row.auth_type, header: row.auth_header, secret };
}

export function authHeaders({ type, header, secret }: Credential): Record<string, string> {
  if (secret === null) return {};
  return type === 'HEADER' && header !== null ? { [header]: secret } : { Authorization: `Bearer ${secret}` };
}

function headerName(name: string): string {
  if (!HEADER_NAME.test(name)) throw validationError('/auth/name', 'must be a header name (RFC 9110 token)');
  const lower = name.toLowerCase();
  if (RESERVED.has(lower) || lower.startsWith('sec-') || lower.startsWith(':')) {
    throw validationError('/auth/name', 'must not be a header that the transport sets itself');
  }
  return name;
}

/** True if the text can be sent as a credential. */
export function isHeaderValue(value: string): boolean {
  return value.length <= MAX_SECRET_LENGTH && HEADER_VALUE.test(value);
}

function headerValue(path: string, value: string): string {
  if (value.length > MAX_SECRET_LENGTH) {
    throw validationError(path, `must have at most ${MAX_SECRET_LENGTH} characters`);
  }
  if (!HEADER_VALUE.test(value)) {
    throw validationError(
      path,
      'must be 1 or more printable ASCII characters, without line breaks and without spaces at an end',
    );
  }
  return value;
}
