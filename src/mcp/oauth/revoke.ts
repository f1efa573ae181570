import type { GuardedNetwork } from '../../network/network.js';
import type { Logger } from '../../platform/logger.js';
import { oauthReason } from './failure.js';
import type { Grant } from './grants.js';
import { revokeToken } from './request-tokens.js';

/** Revokes tokens that are no longer used here. A failure is only logged: then they live until they expire. */
export async function tryRevoke(
  { mcpNetwork, log }: { mcpNetwork: GuardedNetwork; log: Logger },
  serverId: string,
  open: () => Grant | null,
): Promise<void> {
  try {
    const grant = open();
    if (grant !== null) await revokeGrant(mcpNetwork, grant);
  } catch (error) {
    log.warn({ mcp_server_id: serverId, reason: oauthReason(error) }, 'the tokens of an MCP server were not revoked');
  }
}

/** Revokes by RFC 7009 at the authorization server that issued the tokens, if it supports that. */
async function revokeGrant(network: GuardedNetwork, grant: Grant): Promise<void> {
  const { access_token, refresh_token } = grant.tokens;
  if (refresh_token !== undefined) await revoke(network, grant, refresh_token, 'refresh_token');
  await revoke(network, grant, access_token, 'access_token');
}

async function revoke(network: GuardedNetwork, grant: Grant, token: string, hint: string): Promise<void> {
  const { revocation_endpoint: url } = grant.server;
  if (url !== undefined) await revokeToken(network, grant, url, { token, token_type_hint: hint });
}
