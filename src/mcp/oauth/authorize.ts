import { randomBytes } from 'node:crypto';
import { startAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import type { AuditSender } from '../../db/entities/audit-sender.js';
import type { Tx } from '../../db/db.js';
import type { McpOauthRow, OauthDiscovery } from '../../db/entities/mcp-oauth.js';
import type { McpServerRow } from '../../db/entities/mcp-servers.js';
import type { Config } from '../../platform/config.js';
import type { GuardedNetwork } from '../../network/network.js';
import type { OauthInput } from '../auth.js';
import { CLIENT_AUTH_METHODS } from './client-auth.js';
import { discover } from './discover.js';
import { OauthFailure, oauthFailed } from './failure.js';
import { REQUEST_TIMEOUT_MS } from './oauth-fetch.js';
import { postToServer } from './post.js';
import { isForgotten } from './request-tokens.js';
import { openClient, storeSetup, type OauthClient, type OauthSetup, type PendingAuthorization } from './store.js';

const CALLBACK_PATH = '/v1/mcp-servers/oauth/callback';

export interface OauthDeps {
  config: Pick<Config, 'encryptionKeys' | 'publicUrl'>;
  mcpNetwork: GuardedNetwork;
}

/** A prepared authorization, ready to be stored and opened in a browser. */
export interface StartedAuthorization {
  setup: OauthSetup;
  pending: PendingAuthorization;
  authorizationUrl: string;
}

/** The fields of the server object for an authorization that has just started. */
export interface AuthorizationLink {
  authorization_url: string | null;
  expires_at: string | null;
}

export function redirectUriOf({ publicUrl }: Pick<Config, 'publicUrl'>): string {
  return `${publicUrl}${CALLBACK_PATH}`;
}

/**
 * Discovers the authorization server, registers a client unless one is given, and prepares the authorization.
 * @throws ServiceError `mcp_oauth_failed`
 */
export async function startOauth(
  deps: OauthDeps,
  serverUrl: URL,
  { client_id, client_secret, scopes }: OauthInput,
): Promise<StartedAuthorization> {
  try {
    const discovery = await discover(deps.mcpNetwork, serverUrl);
    const clientIsDynamic = client_id === undefined;
    const client = clientIsDynamic
      ? await registerDynamically(deps, discovery, scopes ?? discovery.scopes)
      : { client_id, ...(client_secret !== undefined && { client_secret }) };
    return await prepare(deps, { scopes: scopes ?? null, client, clientIsDynamic, discovery });
  } catch (error) {
    throw oauthFailed(error);
  }
}

/**
 * Starts the authorization of a server again. A client registered with the same authorization server and redirect
 * address is reused, unless that server has forgotten it. A client given by the user is never sent to another authorization server.
 * @throws ServiceError `mcp_oauth_failed`
 */
export async function restartOauth(deps: OauthDeps, serverUrl: URL, row: McpOauthRow): Promise<StartedAuthorization> {
  try {
    const discovery = await discover(deps.mcpNetwork, serverUrl);
    const isSameServer = discovery.server.issuer === row.discovery.server.issuer;
    if (!isSameServer && !row.client_is_dynamic) {
      throw new OauthFailure(
        'it names another authorization server than the one its client belongs to; set auth again',
      );
    }
    const known = isSameServer ? await knownClient(deps, discovery, row) : null;
    const client = known ?? (await registerDynamically(deps, discovery, row.scopes ?? discovery.scopes));
    return await prepare(deps, { scopes: row.scopes, client, clientIsDynamic: row.client_is_dynamic, discovery });
  } catch (error) {
    throw oauthFailed(error);
  }
}

/** The client of an earlier authorization; null if a new one has to be registered. */
async function knownClient(
  { config, mcpNetwork }: OauthDeps,
  { server }: OauthDiscovery,
  row: McpOauthRow,
): Promise<OauthClient | null> {
  const client = openClient(config.encryptionKeys, row);
  if (!row.client_is_dynamic) return client;
  const redirectUri = redirectUriOf(config);
  if (row.redirect_uri !== redirectUri) return null;
  // Only a refusal counts: while the server is away, nothing is known about the client.
  return (await isForgotten(mcpNetwork, { client, server, redirectUri })) ? null : client;
}

/**
 * Starts the authorization of a server of type OAUTH by one of its users, with the client and the scopes of the server.
 * @throws ServiceError `mcp_oauth_failed`, `invalid_mcp_server_url`
 */
export async function startUserOauth(
  deps: OauthDeps,
  { url, oauth }: Pick<McpServerRow, 'url' | 'oauth'>,
): Promise<StartedAuthorization> {
  return restartOauth(deps, await deps.mcpNetwork.checkUrl(url), oauth!);
}

/**
 * Stores a started authorization. Its link works once and for 10 minutes.
 * @param begunBy whose entry in the audit log its end is
 */
export async function storeStarted(
  tx: Tx,
  { config }: OauthDeps,
  id: string,
  { setup, pending, authorizationUrl }: StartedAuthorization,
  begunBy: AuditSender,
): Promise<AuthorizationLink> {
  const expiresAt = await storeSetup(tx, config.encryptionKeys, id, { ...setup, begunBy }, pending);
  return { authorization_url: authorizationUrl, expires_at: expiresAt };
}

async function prepare(deps: OauthDeps, setup: Omit<OauthSetup, 'redirectUri'>): Promise<StartedAuthorization> {
  const { discovery, client, scopes } = setup;
  const redirectUri = redirectUriOf(deps.config);
  const state = randomBytes(32).toString('base64url');
  const { authorizationUrl, codeVerifier } = await startAuthorization(discovery.server.issuer, {
    metadata: discovery.server,
    clientInformation: client,
    redirectUrl: redirectUri,
    state,
    scope: (scopes ?? discovery.scopes)?.join(' '),
    resource: discovery.resource,
  });
  return {
    setup: { ...setup, redirectUri },
    pending: { state, codeVerifier },
    authorizationUrl: authorizationUrl.href,
  };
}

async function registerDynamically(
  { mcpNetwork, config }: OauthDeps,
  { server }: OauthDiscovery,
  scopes: string[] | null,
): Promise<OauthClient> {
  if (server.registration_endpoint === undefined) {
    throw new OauthFailure('its authorization server registers no clients by itself; send client_id in auth');
  }
  const body = {
    client_name: 'Agent Session Service',
    redirect_uris: [redirectUriOf(config)],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: clientAuthMethod(server),
    ...(scopes !== null && { scope: scopes.join(' ') }),
  };
  const client = await postToServer(mcpNetwork, {
    url: server.registration_endpoint,
    headers: new Headers({ 'Content-Type': 'application/json' }),
    body: JSON.stringify(body),
    needs: 'client_id',
    secrets: [],
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const { client_id, client_secret, token_endpoint_auth_method: method } = client;
  return {
    client_id: String(client_id),
    // Servers also send an empty secret to a client without one.
    ...(typeof client_secret === 'string' && client_secret !== '' && { client_secret }),
    ...(typeof method === 'string' && { token_endpoint_auth_method: method }),
  };
}

/** RFC 8414 §2: the default without a list is client_secret_basic. */
function clientAuthMethod({ token_endpoint_auth_methods_supported: supported }: OauthDiscovery['server']): string {
  return CLIENT_AUTH_METHODS.find((method) => supported?.includes(method)) ?? 'client_secret_basic';
}
