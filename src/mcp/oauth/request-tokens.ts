import { randomBytes } from 'node:crypto';
import type { OauthDiscovery } from '../../db/entities/mcp-oauth.js';
import type { GuardedNetwork } from '../../network/network.js';
import type { JsonObject } from '../../platform/json-object.js';
import { authenticate, clientAuthsOf } from './client-auth.js';
import { checkTokens } from './check-tokens.js';
import { OauthRefusedError } from './failure.js';
import type { OauthTokens } from './grants.js';
import { REQUEST_TIMEOUT_MS } from './oauth-fetch.js';
import { postToServer } from './post.js';
import type { OauthClient } from './store.js';

type Server = OauthDiscovery['server'];

interface Request {
  client: OauthClient;
  server: Server;
  url: string;
  form: Record<string, string>;
  needs: 'access_token' | null;
}

/** Requests tokens (RFC 6749 §4.1.3, §6). Returns the client with the way that the server took. @throws as `postToServer` */
export async function requestTokens(
  network: GuardedNetwork,
  { client, server }: { client: OauthClient; server: Server },
  form: Record<string, string>,
): Promise<{ tokens: OauthTokens; client: OauthClient }> {
  const url = server.token_endpoint;
  const answer = await postAsClient(network, { client, server, url, form, needs: 'access_token' });
  return { tokens: checkTokens(answer.document), client: answer.client };
}

/** Revokes a token (RFC 7009). */
export async function revokeToken(
  network: GuardedNetwork,
  { client, server }: { client: OauthClient; server: Server },
  url: string,
  form: Record<string, string>,
): Promise<void> {
  await postAsClient(network, { client, server, url, form, needs: null });
}

/**
 * True if the authorization server does not know the client any more. It is asked for tokens with a code that nobody has: a server
 * checks the client first (RFC 6749 §4.1.3), so a client that it knows gets another error.
 */
export async function isForgotten(
  network: GuardedNetwork,
  { client, server, redirectUri }: { client: OauthClient; server: Server; redirectUri: string },
): Promise<boolean> {
  const form = {
    grant_type: 'authorization_code',
    code: randomBytes(32).toString('base64url'),
    code_verifier: randomBytes(32).toString('base64url'),
    redirect_uri: redirectUri,
  };
  try {
    await requestTokens(network, { client, server }, form);
    return false;
  } catch (error) {
    return error instanceof OauthRefusedError && error.code !== 'invalid_request' && error.isAboutClient;
  }
}

/** Sends a form in each way that the server may take, until it does not complain about the client. */
async function postAsClient(
  network: GuardedNetwork,
  { client, server, url, form, needs }: Request,
): Promise<{ document: JsonObject; client: OauthClient }> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const secrets = [client.client_secret, ...SECRET_FIELDS.map((name) => form[name])].filter((one) => one !== undefined);
  let refusal: OauthRefusedError | undefined;
  for (const way of clientAuthsOf(client, server.token_endpoint_auth_methods_supported)) {
    const headers = new Headers({ 'Content-Type': 'application/x-www-form-urlencoded' });
    const body = new URLSearchParams(form);
    authenticate(client, way, headers, body);
    try {
      const document = await postToServer(network, { url, headers, body: body.toString(), needs, secrets, signal });
      return { document, client: { ...client, auth: way } };
    } catch (error) {
      if (!(error instanceof OauthRefusedError) || !error.isAboutClient) throw error;
      // Whether a client is known counts more than how it was sent.
      if (refusal === undefined || refusal.code === 'invalid_request') refusal = error;
    }
  }
  throw refusal!;
}

const SECRET_FIELDS = ['code', 'code_verifier', 'refresh_token', 'token'];
