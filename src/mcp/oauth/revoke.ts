import { selectClientAuthMethod } from '@modelcontextprotocol/sdk/client/auth.js';
import type { McpOauthRow } from '../../db/entities/mcp-oauth.js';
import type { OauthDeps } from './authorize.js';
import type { Logger } from '../../platform/logger.js';
import { oauthReason } from './failure.js';
import { oauthFetch } from './oauth-fetch.js';
import { openClient, openTokens, type OauthClient } from './store.js';

/** Revokes tokens that are deleted here. A failure is only logged: then they live until they expire. */
export async function tryRevoke(deps: OauthDeps & { log: Logger }, row: McpOauthRow): Promise<void> {
  try {
    await revokeTokens(deps, row);
  } catch (error) {
    deps.log.warn(
      { mcp_server_id: row.id, reason: oauthReason(error) },
      'the tokens of an MCP server were not revoked',
    );
  }
}

/** Revokes by RFC 7009, if the authorization server supports it. */
async function revokeTokens({ config, mcpNetwork }: OauthDeps, row: McpOauthRow): Promise<void> {
  const endpoint = row.discovery.server.revocation_endpoint;
  const tokens = openTokens(config.encryptionKeys, row);
  if (endpoint === undefined || tokens === null) return;
  const client = openClient(config.encryptionKeys, row);
  const send = oauthFetch(mcpNetwork);
  const { access_token, refresh_token } = tokens;
  if (refresh_token !== undefined) await revoke(send, endpoint, row, client, refresh_token, 'refresh_token');
  await revoke(send, endpoint, row, client, access_token, 'access_token');
}

async function revoke(
  send: ReturnType<typeof oauthFetch>,
  endpoint: string,
  { discovery }: McpOauthRow,
  client: OauthClient,
  token: string,
  hint: string,
): Promise<void> {
  const body = new URLSearchParams({ token, token_type_hint: hint });
  const headers: Record<string, string> = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const method = selectClientAuthMethod(client, discovery.server.token_endpoint_auth_methods_supported ?? []);
  if (method === 'client_secret_basic') {
    const { client_id, client_secret = '' } = client;
    headers.Authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
  } else {
    body.set('client_id', client.client_id);
    if (method === 'client_secret_post') body.set('client_secret', client.client_secret ?? '');
  }
  await send(endpoint, { method: 'POST', headers, body });
}
