import type { OauthClient } from './store.js';

/** How a client may identify itself at registration, the preferred one first. */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'];

/**
 * How a request proves which client sends it. Authorization servers differ in `client_secret_basic`: those of the MCP SDK for Python
 * and its relatives find the client by `client_id` in the form, others refuse a `client_id` beside the header as a second
 * method, and some do not decode the credentials in the header (RFC 6749 §2.3.1).
 */
export type ClientAuth = 'basic_with_id' | 'basic' | 'basic_not_encoded' | 'post' | 'none';

/** The ways that a server may take, the best one first: the one that worked last, then what client and server name. */
export function clientAuthsOf(client: OauthClient, supported: readonly string[] | undefined): ClientAuth[] {
  if (client.client_secret === undefined) return ['none'];
  // RFC 8414 §2: the default without a list.
  const listed = supported ?? ['client_secret_basic'];
  const { token_endpoint_auth_method: registered = '' } = client;
  const isRegistered = supported === undefined || supported.includes(registered);
  const methods = [...(isRegistered ? [registered] : []), ...CLIENT_AUTH_METHODS.filter((one) => listed.includes(one))];
  const ways = methods.flatMap((method) => waysOf(method, client));
  const all = ways.length === 0 ? (['post'] as const) : ways;
  return [...new Set([...(client.auth === undefined ? [] : [client.auth]), ...all])];
}

function waysOf(method: string, client: OauthClient): ClientAuth[] {
  if (method === 'client_secret_post') return ['post'];
  if (method === 'none') return ['none'];
  if (method !== 'client_secret_basic') return [];
  const isEncoded = [client.client_id, client.client_secret ?? ''].some((text) => encode(text) !== text);
  return ['basic_with_id', 'basic', ...(isEncoded ? (['basic_not_encoded'] as const) : [])];
}

/** Adds the client to a request. */
export function authenticate(
  { client_id, client_secret = '' }: OauthClient,
  way: ClientAuth,
  headers: Headers,
  form: URLSearchParams,
): void {
  if (way === 'post' || way === 'none' || way === 'basic_with_id') form.set('client_id', client_id);
  if (way === 'post') form.set('client_secret', client_secret);
  if (way === 'post' || way === 'none') return;
  const parts = way === 'basic_not_encoded' ? [client_id, client_secret] : [encode(client_id), encode(client_secret)];
  headers.set('Authorization', `Basic ${Buffer.from(parts.join(':')).toString('base64')}`);
}

/** As a form encodes it, with `%20` for a space: not every server decodes `+`. */
function encode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1).replaceAll('+', '%20');
}
