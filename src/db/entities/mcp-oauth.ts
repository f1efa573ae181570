import type { AuditSender } from './audit-sender.js';
import { EntitySchema } from 'typeorm';

/** The OAuth metadata of a resource and its authorization server (src/mcp/oauth/discover). */
export interface OauthDiscovery {
  resource: string;
  /** The scopes from the resource's metadata. */
  scopes: string[] | null;
  /** The used part of the authorization server's metadata (RFC 8414). */
  server: {
    issuer: string;
    authorization_endpoint: string;
    token_endpoint: string;
    registration_endpoint?: string;
    revocation_endpoint?: string;
    response_types_supported: string[];
    code_challenge_methods_supported: string[];
    token_endpoint_auth_methods_supported?: string[];
    authorization_response_iss_parameter_supported?: boolean;
  };
}

/** `client`, `discovery` and `redirect_uri` are those of the newest authorization, finished or not. */
export interface McpOauthRow {
  /** The id of the server, or of a user's credential for it. */
  id: string;
  scopes: string[] | null;
  client: string;
  client_is_dynamic: boolean;
  discovery: OauthDiscovery;
  redirect_uri: string;
  /** Whose request began the newest authorization; null for one of an earlier version. */
  begun_by: AuditSender | null;
  /** A sealed grant (src/mcp/oauth/grants). */
  tokens: string | null;
  tokens_expire_at: string | null;
  refresh_claim: string | null;
  refresh_claimed_until: string | null;
  authorized_at: string | null;
  state_hash: Buffer | null;
  state_expires_at: string | null;
  code_verifier: string | null;
}

export const McpOauthEntity = new EntitySchema<McpOauthRow & { server: unknown }>({
  name: 'mcp_oauth',
  columns: {
    id: { type: 'text', primary: true },
    scopes: { type: 'text', array: true, nullable: true },
    client: { type: 'text' },
    client_is_dynamic: { type: 'boolean' },
    discovery: { type: 'json' },
    redirect_uri: { type: 'text' },
    begun_by: { type: 'json', nullable: true },
    tokens: { type: 'text', nullable: true },
    tokens_expire_at: { type: 'text', nullable: true },
    refresh_claim: { type: 'text', nullable: true },
    refresh_claimed_until: { type: 'text', nullable: true },
    authorized_at: { type: 'text', nullable: true },
    state_hash: { type: 'bytea', nullable: true },
    state_expires_at: { type: 'text', nullable: true },
    code_verifier: { type: 'text', nullable: true },
  },
  relations: {
    server: { type: 'one-to-one', target: 'mcp_servers', joinColumn: { name: 'id' }, inverseSide: 'oauth' },
  },
});
