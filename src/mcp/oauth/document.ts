import { isJsonObject, type JsonObject } from '../../platform/json-object.js';
import { codePointLength, isStorableText } from '../../platform/text.js';
import { OauthFailure } from './failure.js';

/** Limits of one document (docs/decisions.md "Limits of work"). */
export const MAX_DOCUMENT_BYTES = 64 * 1024;
const MAX_LIST_ITEMS = 1000;
const MAX_LIST_ITEM_LENGTH = 256;
/** Limit of every secret and token, and of every other text outside of a list. */
const MAX_TEXT_BYTES = 8 * 1024;

/** The fields that this service or a schema of the SDK needs, of all kinds of documents. */
const USED_FIELDS = new Set([
  // Protected resource metadata (RFC 9728)
  'resource',
  'authorization_servers',
  'scopes_supported',
  // Authorization server metadata (RFC 8414). The SDK requires the last three of OpenID providers.
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'response_types_supported',
  'code_challenge_methods_supported',
  'token_endpoint_auth_methods_supported',
  'authorization_response_iss_parameter_supported',
  'jwks_uri',
  'subject_types_supported',
  'id_token_signing_alg_values_supported',
  // Client registration (RFC 7591)
  'client_id',
  'client_secret',
  'token_endpoint_auth_method',
  // Tokens (RFC 6749)
  'access_token',
  'token_type',
  'expires_in',
  'refresh_token',
]);

/** Lists of addresses: the SDK's schemas report each item that is none. */
const ADDRESS_LISTS = new Set(['authorization_servers']);

/**
 * Reduces a document of an authorization or resource server to its used fields, each a bounded text, list of texts,
 * number or boolean. Run it before the SDK's schemas, which make an object with a message for every wrong list item.
 * @throws OauthFailure
 */
export function reduceObject(document: JsonObject): JsonObject {
  checkText(document);
  const used = Object.entries(document).filter(([name, value]) => {
    if (Array.isArray(value)) checkList(name, value);
    return USED_FIELDS.has(name) && value !== null;
  });
  for (const [name, value] of used) checkValue(name, value);
  return Object.fromEntries(used);
}

/** @throws OauthFailure if a list of texts is longer than a document may have */
export function checkList(name: string, items: readonly unknown[]): void {
  if (items.length > MAX_LIST_ITEMS) throw refused(`a list of more than ${MAX_LIST_ITEMS} items`, name);
  if (items.some((item) => typeof item === 'string' && codePointLength(item) > MAX_LIST_ITEM_LENGTH)) {
    throw refused(`a list with an item of more than ${MAX_LIST_ITEM_LENGTH} characters`, name);
  }
}

function checkValue(name: string, value: unknown): void {
  if (Array.isArray(value)) {
    if (!value.every((item) => typeof item === 'string')) throw refused('a list of something else than texts', name);
    if (ADDRESS_LISTS.has(name) && !value.every(isWebAddress))
      throw refused('a list with an item that is no url', name);
  } else if (typeof value === 'string') {
    if (Buffer.byteLength(value) > MAX_TEXT_BYTES) throw refused(`a text of more than ${MAX_TEXT_BYTES} bytes`, name);
  } else if (typeof value === 'object') {
    throw refused('an object where a text belongs', name);
  }
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Does not recurse: a document can nest thousands of levels. */
function checkText(document: object): void {
  const open: unknown[] = [document];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string' && !isStorableText(value)) throw unstorable();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value) && !Object.keys(value).every(isStorableText)) throw unstorable();
    for (const child of Object.values(value)) open.push(child);
  }
}

/** Null for text that is no JSON object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** `name` is shown only if it is one of ours: the server can put its own text there. */
function refused(what: string, name: string): OauthFailure {
  return new OauthFailure(`an OAuth document has ${what}${USED_FIELDS.has(name) ? ` (${name})` : ''}`);
}

function unstorable(): OauthFailure {
  return new OauthFailure('an OAuth document has NUL characters or lone surrogates');
}
