import type { McpServerRow } from '../db/entities/mcp-servers.js';
import { authHeaders, credentialOf, type Credential } from './auth.js';
import { NotAuthorizedError } from './not-authorized.js';
import type { AccessToken, OauthAccess } from './oauth/tokens.js';
import type { TurnServerRow } from './user-credentials.js';

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

/** The fields of a server, or of a user's credential for it, that determine its authorization. */
type Owner = Pick<
  McpServerRow,
  'id' | 'project_id' | 'auth_type' | 'auth_header' | 'credential' | 'credential_version'
>;

/** `user_credential`: requests act as this user, never with the server's own credential (decisions.md "User credentials"). */
export type AuthorizedServer = Owner & Pick<TurnServerRow, 'user_credential'>;

/** @throws UnsealError, NotAuthorizedError */
export function requestAuthOf(keys: readonly Buffer[], oauth: OauthAccess, server: AuthorizedServer): RequestAuth {
  const { user_credential: ofUser } = server;
  if (ofUser === null) throw new NotAuthorizedError();
  const owner: Owner = ofUser ?? server;
  if (owner.auth_type === 'OAUTH') return oauthAuth(oauth, owner);
  const column = ofUser === undefined ? 'mcp_servers.credential' : 'user_credentials.credential';
  return credentialAuth(credentialOf(keys, owner, column));
}

/** Authorization with a credential that never changes by itself. */
export function credentialAuth(credential: Credential): RequestAuth {
  return {
    authorize: async () => ({ headers: authHeaders(credential) }),
    secrets: () => (credential.secret === null ? [] : [credential.secret]),
  };
}

function oauthAuth(oauth: OauthAccess, owner: Owner): RequestAuth {
  return {
    authorize: async (rejected) => {
      const token = await oauth.token(owner, rejected?.token);
      return { headers: { Authorization: `Bearer ${token.token}` }, ...(!token.isNew && { token }) };
    },
    secrets: () => oauth.secretsOf(owner.id),
  };
}
