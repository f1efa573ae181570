import type { McpServerRow } from '../db/entities/mcp-servers.js';
import { authHeaders, credentialOf, type Credential } from './auth.js';
import type { AccessToken, OauthAccess } from './oauth/tokens.js';

/** How the requests of one connection are authorized. */
export interface RequestAuth {
  headers(): Promise<Record<string, string>>;
  /** Called once for a request that the server answered with 401. True when new headers are worth another try. */
  renew(): Promise<boolean>;
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
    headers: async () => authHeaders(credential),
    renew: async () => false,
    secrets: () => (credential.secret === null ? [] : [credential.secret]),
  };
}

function oauthAuth(oauth: OauthAccess, server: AuthorizedServer): RequestAuth {
  let sent: AccessToken | undefined;
  return {
    headers: async () => {
      sent = await oauth.token(server);
      return { Authorization: `Bearer ${sent.token}` };
    },
    renew: async () => {
      await oauth.token(server, sent);
      return true;
    },
    secrets: () => oauth.secretsOf(server.id),
  };
}
