import type { McpServerRow } from '../db/entities/mcp-servers.js';
import { authHeaders, credentialOf, type Credential } from './auth.js';
import type { AccessToken, OauthAccess } from './oauth/tokens.js';

/** The headers of one request. `token` is present when a new one may be had after a 401. */
export interface Authorization {
  headers: Record<string, string>;
  token?: AccessToken;
}

/** How the requests of one connection are authorized. */
export interface RequestAuth {
  /** `rejected` is what an earlier attempt at the request was refused with. */
  authorize(rejected?: Authorization): Promise<Authorization>;
  /** What must not appear in anything that the server says. */
  secrets(): readonly string[];
}

/** The fields of a server that decide how its requests are authorized. */
export type AuthorizedServer = Pick<
  McpServerRow,
  'id' | 'auth_type' | 'auth_header' | 'credential' | 'credential_version'
>;

/** @throws UnsealError */
export function requestAuthOf(keys: readonly Buffer[], oauth: OauthAccess, server: AuthorizedServer): RequestAuth {
  return server.auth_type === 'OAUTH' ? oauthAuth(oauth, server) : credentialAuth(credentialOf(keys, server));
}

/** A credential that never changes by itself. */
export function credentialAuth(credential: Credential): RequestAuth {
  return {
    authorize: async () => ({ headers: authHeaders(credential) }),
    secrets: () => (credential.secret === null ? [] : [credential.secret]),
  };
}

function oauthAuth(oauth: OauthAccess, server: AuthorizedServer): RequestAuth {
  return {
    authorize: async (rejected) => {
      const token = await oauth.token(server, rejected?.token);
      return { headers: { Authorization: `Bearer ${token.token}` }, token };
    },
    secrets: () => oauth.secretsOf(server.id),
  };
}
