import type { GuardedNetwork } from '../../network/network.js';
import { withoutNulls, type JsonObject } from '../../platform/json-object.js';
import { DECEPTIVE } from '../../platform/text.js';
import { Cleaner } from '../cleaner.js';
import { OauthRefusedError, OauthUnavailableError } from './failure.js';
import { oauthFetch } from './oauth-fetch.js';
import { parseObject, reduceObject } from './document.js';

const MAX_ERROR_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 300;
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i;
/** A form without its type: names and values, and no other character of JSON or HTML. */
const FORM = /^[\w.~%+-]+=[^{}<>\s]*$/;

/** Errors that say nothing about the request. */
const TRANSIENT: ReadonlySet<string> = new Set([
  'temporarily_unavailable',
  'server_error',
  'internal_error',
  'slow_down',
  'ratelimited',
  'rate_limited',
]);

interface Post {
  url: string;
  headers: Headers;
  body: string;
  /** The member that makes an answer a success. */
  needs: 'access_token' | 'client_id' | null;
  /** What the request contains, and an answer may repeat. */
  secrets: readonly string[];
  signal: AbortSignal;
}

/**
 * Sends a request to an authorization server and returns the document that it answers, reduced to the used fields. An answer with
 * `error` and without what is needed is a refusal, whatever its status: some providers answer everything with 200.
 * @throws OauthRefusedError, OauthFailure for a document beyond the limits, OauthUnavailableError
 */
export async function postToServer(network: GuardedNetwork, post: Post): Promise<JsonObject> {
  const { url, headers, body, needs, secrets, signal } = post;
  headers.set('Accept', 'application/json');
  const response = await oauthFetch(network, { signal })(url, { method: 'POST', headers, body });
  const text = await response.text();
  const document = parseDocument(text, response.headers.get('content-type') ?? '');
  const isComplete = needs === null ? response.ok : document !== null && isText(document[needs]);
  if (document !== null && !isComplete && isGiven(document.error)) {
    if (TRANSIENT.has(String(document.error)))
      throw new OauthUnavailableError(`the authorization server failed (${String(document.error)})`);
    throw refusalOf(document, secrets);
  }
  if (response.ok) {
    if (!isComplete) throw new OauthUnavailableError(`the authorization server answered without ${needs}`);
    return document === null ? {} : reduceObject(document);
  }
  // Web servers in front answer with pages, which say nothing about the credentials.
  const isPage = document === null && text.trim() !== '';
  if ((response.status === 400 || response.status === 401) && !isPage) {
    throw new OauthRefusedError(response.status === 401 ? 'invalid_client' : 'invalid_request', null);
  }
  throw new OauthUnavailableError(`the authorization server answered HTTP ${response.status} without an OAuth error`);
}

/** A JSON object, or a form as providers older than RFC 6749 send it. Null for anything else. */
function parseDocument(text: string, type: string): JsonObject | null {
  const object = parseObject(text);
  if (object !== null) return withoutNulls(object);
  const isForm = FORM_TYPE.test(type) || FORM.test(text.trim());
  return isForm ? Object.fromEntries(new URLSearchParams(text.trim())) : null;
}

/** `error` is a code by RFC 6749 §5.2; API gateways send an object with a code and a message. */
export function refusalOf(
  { error, error_description: description }: JsonObject,
  secrets: readonly string[],
): OauthRefusedError {
  const cleaner = new Cleaner(() => secrets);
  const { code, type, status, message } = withoutNulls(error);
  const name = [error, code, type, status].find((one) => isText(one) || typeof one === 'number') ?? 'error';
  const said = [description, message].find(isText);
  const shown = said === undefined ? '' : cleanText(said, MAX_DESCRIPTION_LENGTH, cleaner);
  return new OauthRefusedError(cleanText(String(name), MAX_ERROR_LENGTH, cleaner), shown === '' ? null : shown);
}

/** The text of another server as one line for a person. */
function cleanText(text: string, length: number, cleaner: Cleaner): string {
  const line = cleaner.cleanStart(text, length).replace(new RegExp(DECEPTIVE, 'gu'), ' ').replace(/\s+/g, ' ').trim();
  return line.length < length ? line : `${line}…`;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== '' && value !== false;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
