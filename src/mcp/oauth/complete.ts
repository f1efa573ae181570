import { exchangeAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import type { DataSource } from 'typeorm';
import type { McpOauthRow } from '../../db/entities/mcp-oauth.js';
import type { McpServerRow } from '../../db/entities/mcp-servers.js';
import { transaction } from '../../db/transaction.js';
import { findServerById } from '../find-servers.js';
import { checkTokens } from './check-tokens.js';
import type { OauthDeps } from './authorize.js';
import { OauthFailure } from './failure.js';
import { oauthFetch } from './oauth-fetch.js';
import { openClient, openCodeVerifier, storeTokens, takeState, type OauthTokens } from './store.js';

/** The parameters of the authorization response (RFC 6749 §4.1.2, RFC 9207). */
interface CallbackParameters {
  state?: string;
  code?: string;
  error?: string;
  iss?: string;
}

/**
 * Finishes an authorization: consumes the state, checks the issuer, exchanges the code and stores the tokens.
 * @throws OauthFailure, OauthUnavailableError, OAuthError of the SDK
 */
export async function completeAuthorization(
  { db, config, mcpNetwork }: OauthDeps & { db: DataSource },
  parameters: CallbackParameters,
): Promise<McpServerRow> {
  const keys = config.encryptionKeys;
  const { state = '' } = parameters;
  const row = state === '' ? null : await transaction(db, (tx) => takeState(tx, state));
  const server = row === null ? null : await findServerById(db, row.id);
  if (row === null || server === null) {
    throw new OauthFailure(
      'this authorization is unknown, was used already, or is older than 10 minutes; start it again',
    );
  }
  checkIssuer(row, parameters.iss);
  if (parameters.error !== undefined) {
    const denied = parameters.error === 'access_denied';
    throw new OauthFailure(denied ? 'access was denied' : 'the authorization server reported an error');
  }
  if (parameters.code === undefined) throw new OauthFailure('the authorization server sent no code');
  const tokens = await exchange({ config, mcpNetwork }, row, parameters.code);
  const isStored = await transaction(db, (tx) => storeTokens(tx, keys, row.id, tokens, server.credential_version));
  if (!isStored) throw new OauthFailure('the MCP server was changed meanwhile; start the authorization again');
  return server;
}

/** RFC 9207 §2.4: never send the code to an authorization server that did not issue it. */
function checkIssuer({ discovery: { server } }: McpOauthRow, iss: string | undefined): void {
  if (iss === undefined && server.authorization_response_iss_parameter_supported !== true) return;
  if (iss !== server.issuer) throw new OauthFailure('the response does not come from its authorization server (iss)');
}

async function exchange({ config, mcpNetwork }: OauthDeps, row: McpOauthRow, code: string): Promise<OauthTokens> {
  const { server, resource } = row.discovery;
  const tokens = await exchangeAuthorization(server.issuer, {
    metadata: server,
    clientInformation: openClient(config.encryptionKeys, row),
    authorizationCode: code,
    codeVerifier: openCodeVerifier(config.encryptionKeys, row),
    redirectUri: row.redirect_uri,
    resource,
    fetchFn: oauthFetch(mcpNetwork),
  });
  return checkTokens(tokens);
}
