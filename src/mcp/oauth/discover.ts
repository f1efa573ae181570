import { VERSION } from '../../platform/version.js';
import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { checkResourceAllowed, resourceUrlFromServerUrl } from '@modelcontextprotocol/sdk/shared/auth-utils.js';
import type { OAuthProtectedResourceMetadata } from '@modelcontextprotocol/sdk/shared/auth.js';
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';
import type { OauthDiscovery } from '../../db/entities/mcp-oauth.js';
import { ServiceError } from '../../platform/errors.js';
import type { JsonObject } from '../../platform/json-object.js';
import type { GuardedNetwork } from '../../network/network.js';
import { failureReason } from '../reasons.js';
import { CLIENT_AUTH_METHODS } from './client-auth.js';
import { challengeValues, readChallenges } from './challenge.js';
import { checkList, parseObject } from './document.js';
import { OauthFailure, OauthUnavailableError } from './failure.js';
import { oauthFetch, REQUEST_TIMEOUT_MS } from './oauth-fetch.js';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: 'agent-session-service', version: VERSION },
  },
};

/** Addresses of one kind that are tried: a server may name several, of which some lead nowhere. */
const MAX_TRIED = 3;

/**
 * Discovers the authorization server of an MCP server (MCP specification, "Authorization"), with checks that the SDK
 * lacks: the issuer is the requested one (RFC 8414 §3.3), S256 is supported, and the endpoints are safe.
 * @throws OauthFailure, OauthUnavailableError
 */
export async function discover(network: GuardedNetwork, serverUrl: URL): Promise<OauthDiscovery> {
  const { resourceMetadataUrls, scope } = await readChallenge(network, serverUrl);
  const resource = await firstThatWorks(
    resourceMetadataUrls.length > 0 ? resourceMetadataUrls : [undefined],
    (resourceMetadataUrl) => resourceMetadata(network, serverUrl, resourceMetadataUrl),
  );
  const defaultResource = resourceUrlFromServerUrl(serverUrl);
  if (
    resource !== undefined &&
    !checkResourceAllowed({ requestedResource: defaultResource, configuredResource: resource.resource })
  ) {
    throw new OauthFailure('its resource metadata is that of another resource');
  }
  const issuers = resource?.authorization_servers ?? [];
  const server = await firstThatWorks(issuers.length > 0 ? issuers : [String(new URL('/', serverUrl))], (issuer) =>
    serverMetadata(network, issuer),
  );
  const challengedScopes = scope?.split(' ').filter((one) => one !== '') ?? null;
  if (challengedScopes !== null) checkList('scope', challengedScopes);
  return {
    resource: resource?.resource ?? defaultResource.href,
    scopes: resource?.scopes_supported ?? challengedScopes,
    server,
  };
}

/** The first result; else the failure of the first one. A server that is away may work later: then no other one takes its place. */
async function firstThatWorks<Place, Result>(
  places: readonly Place[],
  read: (place: Place) => Promise<Result>,
): Promise<Result> {
  let first: OauthFailure | undefined;
  for (const place of places.slice(0, MAX_TRIED)) {
    try {
      return await read(place);
    } catch (error) {
      if (!(error instanceof OauthFailure)) throw error;
      first ??= error;
    }
  }
  throw first!;
}

/** Sends a request without a credential: the Bearer challenges of the 401 response name the resource metadata. */
async function readChallenge(
  network: GuardedNetwork,
  serverUrl: URL,
): Promise<{ resourceMetadataUrls: URL[]; scope: string | undefined }> {
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify(INITIALIZE),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  };
  try {
    const response = await network.fetch(serverUrl, init, { left: { bytes: 64 * 1024 } });
    await response.body?.cancel();
    const fields = response.status === 401 ? (response.headers.get('www-authenticate') ?? '') : '';
    const challenges = readChallenges(fields);
    const addresses = challengeValues(challenges, 'bearer', 'resource_metadata');
    return {
      resourceMetadataUrls: addresses.flatMap((address) => URL.parse(address, serverUrl.href) ?? []),
      scope: challengeValues(challenges, 'bearer', 'scope').find((one) => one.trim() !== ''),
    };
  } catch (error) {
    throw new OauthUnavailableError(`the MCP server cannot be reached: ${failureReason(error)}`);
  }
}

/**
 * Undefined if the server has no resource metadata (first edition of the protocol): then its origin is the
 * authorization server.
 */
async function resourceMetadata(
  network: GuardedNetwork,
  serverUrl: URL,
  resourceMetadataUrl: URL | undefined,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  try {
    return await discoverOAuthProtectedResourceMetadata(serverUrl, { resourceMetadataUrl }, oauthFetch(network));
  } catch (error) {
    if (error instanceof OauthFailure || error instanceof OauthUnavailableError) throw error;
    if (resourceMetadataUrl !== undefined) throw new OauthFailure('its resource metadata cannot be read');
    return undefined;
  }
}

async function serverMetadata(network: GuardedNetwork, issuer: string): Promise<OauthDiscovery['server']> {
  // The SDK's schema of OpenID metadata drops required OAuth fields, so they are read from the document itself.
  let document: JsonObject = {};
  const send = oauthFetch(network);
  const fetchFn: typeof send = async (url, init) => {
    const response = await send(url, init);
    if (!response.ok) return response;
    document = parseObject(await response.clone().text())!;
    return response;
  };
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn }).catch((error: unknown) => {
    if (error instanceof OauthFailure || error instanceof OauthUnavailableError) throw error;
    throw new OauthFailure('the metadata of its authorization server cannot be read');
  });
  if (metadata === undefined) throw new OauthFailure('its authorization server has no metadata');
  if (withoutSlash(metadata.issuer) !== withoutSlash(issuer)) {
    throw new OauthFailure('the metadata of its authorization server names another issuer');
  }
  if (metadata.code_challenge_methods_supported?.includes('S256') !== true) {
    throw new OauthFailure('its authorization server does not announce PKCE with S256');
  }
  if (!metadata.response_types_supported.includes('code')) {
    throw new OauthFailure('its authorization server does not support the authorization code');
  }
  const { revocation_endpoint: revocation } = document;
  const endpoints = [metadata.authorization_endpoint, metadata.token_endpoint];
  for (const endpoint of endpoints) await requireSafe(network, endpoint);
  return {
    issuer: metadata.issuer,
    authorization_endpoint: metadata.authorization_endpoint,
    token_endpoint: metadata.token_endpoint,
    registration_endpoint: metadata.registration_endpoint,
    revocation_endpoint: typeof revocation === 'string' ? revocation : undefined,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: metadata.token_endpoint_auth_methods_supported?.filter((method) =>
      CLIENT_AUTH_METHODS.includes(method),
    ),
    authorization_response_iss_parameter_supported: document.authorization_response_iss_parameter_supported === true,
  };
}

async function requireSafe(network: GuardedNetwork, endpoint: string): Promise<void> {
  await network.checkUrl(endpoint).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    throw new OauthFailure('its authorization server has an endpoint that is not https at a public address');
  });
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}
