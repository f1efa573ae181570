import type { McpServerRow } from '../db/entities/mcp-servers.js';
import { authHeaders, credentialOf, type Credential } from './auth.js';
import type { AccessToken, OauthAccess } from './oauth/tokens.js';

/** The headers of one request. `token` is present if another one can be requested after a 401. */
export interface Authorization {
  headers: Record<string, string>;
  token?: AccessToken;
}

export interface RequestAuth {
  /** `rejected` is the authorization of an earlier attempt that the server refused. */
  authorize(rejected?: Authorization): Promise<Authorization>;
  /** The secrets to redact in the server's text. */
  secrets(): readonly string[];
}

/** The fields of a server that determine its authorization. */
type AuthorizedServer = Pick<
  McpServerRow,
  'id' | 'project_id' | 'auth_type' | 'auth_header' | 'credential' | 'credential_version'
>;

/** @throws UnsealError */
export function requestAuthOf(keys: readonly Buffer[], oauth: OauthAccess, server: AuthorizedServer): RequestAuth {
  return server.auth_type === 'OAUTH' ? oauthAuth(oauth, server) : credentialAuth(credentialOf(keys, server));
}

/** Authorization with a credential that never changes by itself. */
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
      return { headers: { Authorization: `Bearer ${token.token}` }, ...(!token.isNew && { token }) };
    },
    secrets: () => oauth.secretsOf(server.id),
  };
}
