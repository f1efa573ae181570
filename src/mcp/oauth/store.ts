import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { McpOauthEntity, type McpOauthRow, type OauthDiscovery } from '../../db/entities/mcp-oauth.js';
import type { Db } from '../../db/transaction.js';
import { seal, unseal } from '../../platform/sealed.js';

/** contract.md §8: an authorization must be finished within 10 minutes. */
const STATE_SECONDS = 600;

/** The client that the authorization server knows. */
export interface OauthClient {
  client_id: string;
  client_secret?: string;
  token_endpoint_auth_method?: string;
}

export interface OauthTokens {
  access_token: string;
  refresh_token?: string;
  /** Seconds, as the authorization server said. */
  expires_in?: number;
}

/** What an authorization starts from. */
export interface OauthSetup {
  scopes: string[] | null;
  client: OauthClient;
  clientIsDynamic: boolean;
  discovery: OauthDiscovery;
  redirectUri: string;
}

/** An authorization under way. */
export interface PendingAuthorization {
  state: string;
  codeVerifier: string;
}

/** Stores the setup of a server and the authorization that it starts; replaces whatever authorization was under way. */
export async function storeSetup(
  tx: EntityManager,
  keys: readonly Buffer[],
  id: string,
  setup: OauthSetup,
  { state, codeVerifier }: PendingAuthorization,
): Promise<string> {
  const row = {
    id,
    scopes: setup.scopes,
    client: seal(keys, 'mcp_oauth.client', id, JSON.stringify(setup.client)),
    client_is_dynamic: setup.clientIsDynamic,
    discovery: setup.discovery,
    redirect_uri: setup.redirectUri,
    state_hash: hashState(state),
    code_verifier: seal(keys, 'mcp_oauth.code_verifier', id, codeVerifier),
  };
  await tx.getRepository(McpOauthEntity).upsert(row, ['id']);
  const [[expiry]] = await tx.query<[{ at: string }[], number]>(
    `UPDATE mcp_oauth SET state_expires_at = clock_timestamp() + make_interval(secs => ${STATE_SECONDS}) WHERE id = $1
     RETURNING state_expires_at AS at`,
    [id],
  );
  return expiry!.at;
}

/** Uses a state up. Null when it is unknown, used, expired, or its server is deleted. */
export async function takeState(tx: EntityManager, state: string): Promise<McpOauthRow | null> {
  const row = await tx
    .getRepository<McpOauthRow>(McpOauthEntity)
    .createQueryBuilder('oauth')
    .where('oauth.state_hash = :hash', { hash: hashState(state) })
    .setLock('pessimistic_write')
    .getOne();
  if (row === null) return null;
  const [taken] = await tx.query<[{ valid: boolean }[], number]>(
    `UPDATE mcp_oauth SET state_hash = NULL, code_verifier = NULL WHERE id = $1
     RETURNING state_expires_at > clock_timestamp() AS valid`,
    [row.id],
  );
  return taken[0]!.valid ? row : null;
}

/** Stores new tokens, unless the server was deleted or got another credential since `credentialVersion`. */
export async function storeTokens(
  tx: EntityManager,
  keys: readonly Buffer[],
  id: string,
  tokens: OauthTokens,
  credentialVersion?: number,
): Promise<boolean> {
  const [rows] = await tx.query<[unknown[], number]>(
    `UPDATE mcp_oauth SET tokens = $2, tokens_version = tokens_version + 1,
       tokens_expire_at = clock_timestamp() + make_interval(secs => $3::double precision),
       authorized_at = coalesce(authorized_at, clock_timestamp())
     WHERE id = $1 AND EXISTS (SELECT FROM mcp_servers WHERE id = $1 AND deleted_at IS NULL
       AND credential_version = coalesce($4::integer, credential_version))
     RETURNING id`,
    [
      id,
      seal(keys, 'mcp_oauth.tokens', id, JSON.stringify(tokens)),
      tokens.expires_in ?? null,
      credentialVersion ?? null,
    ],
  );
  return rows.length === 1;
}

/** Forgets the tokens: a person has to authorize the server again. */
export async function clearTokens(tx: Db, id: string): Promise<void> {
  await tx.query(
    `UPDATE mcp_oauth SET tokens = NULL, tokens_expire_at = NULL, authorized_at = NULL,
       tokens_version = tokens_version + 1 WHERE id = $1`,
    [id],
  );
}

export async function deleteOauth(tx: EntityManager, id: string): Promise<void> {
  await tx.getRepository(McpOauthEntity).delete({ id });
}

/** @throws UnsealError */
export function openClient(keys: readonly Buffer[], { id, client }: Pick<McpOauthRow, 'id' | 'client'>): OauthClient {
  return JSON.parse(unseal(keys, 'mcp_oauth.client', id, client)) as OauthClient;
}

/** @throws UnsealError */
export function openTokens(
  keys: readonly Buffer[],
  { id, tokens }: Pick<McpOauthRow, 'id' | 'tokens'>,
): OauthTokens | null {
  return tokens === null ? null : (JSON.parse(unseal(keys, 'mcp_oauth.tokens', id, tokens)) as OauthTokens);
}

export function openCodeVerifier(keys: readonly Buffer[], { id, code_verifier }: McpOauthRow): string {
  return unseal(keys, 'mcp_oauth.code_verifier', id, code_verifier!);
}

function hashState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}
