import { createHash } from 'node:crypto';
import type { EntityManager, ObjectLiteral, UpdateQueryBuilder } from 'typeorm';
import { McpOauthEntity, type McpOauthRow, type OauthDiscovery } from '../../db/entities/mcp-oauth.js';
import type { Db } from '../../db/transaction.js';
import { seal, unseal } from '../../platform/sealed.js';

/** contract.md §8: lifetime of a started authorization. */
const STATE_SECONDS = 600;

/** The OAuth client as registered with the authorization server. */
export interface OauthClient {
  client_id: string;
  client_secret?: string;
  token_endpoint_auth_method?: string;
}

export interface OauthTokens {
  access_token: string;
  refresh_token?: string;
  /** Lifetime in seconds from the authorization server. */
  expires_in?: number;
}

/** The data to start an authorization. */
export interface OauthSetup {
  scopes: string[] | null;
  client: OauthClient;
  clientIsDynamic: boolean;
  discovery: OauthDiscovery;
  redirectUri: string;
}

/** A started authorization. */
export interface PendingAuthorization {
  state: string;
  codeVerifier: string;
}

/**
 * Stores the OAuth setup of a server and the started authorization. Replaces an earlier authorization that is not
 * finished.
 */
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
  const result = await updateRow(tx, id, {
    state_expires_at: () => `clock_timestamp() + make_interval(secs => ${STATE_SECONDS})`,
  })
    .returning('state_expires_at')
    .execute();
  return (result.raw as Pick<McpOauthRow, 'state_expires_at'>[])[0]!.state_expires_at!;
}

/** Consumes a state. Null if it is unknown, used or expired, or its server is deleted. */
export async function takeState(tx: EntityManager, state: string): Promise<McpOauthRow | null> {
  const row = await tx
    .getRepository<McpOauthRow>(McpOauthEntity)
    .createQueryBuilder('oauth')
    .where('oauth.state_hash = :hash', { hash: hashState(state) })
    .setLock('pessimistic_write')
    .getOne();
  if (row === null) return null;
  const result = await updateRow(tx, row.id, { state_hash: null, code_verifier: null })
    .returning('state_expires_at > clock_timestamp() AS valid')
    .execute();
  return (result.raw as { valid: boolean }[])[0]!.valid ? row : null;
}

/** Stores new tokens, unless the server is deleted or its credential has changed since `credentialVersion`. */
export async function storeTokens(
  tx: EntityManager,
  keys: readonly Buffer[],
  id: string,
  tokens: OauthTokens,
  credentialVersion?: number,
): Promise<boolean> {
  const { affected } = await updateRow(tx, id, {
    tokens: seal(keys, 'mcp_oauth.tokens', id, JSON.stringify(tokens)),
    tokens_version: () => 'tokens_version + 1',
    tokens_expire_at: () => 'clock_timestamp() + make_interval(secs => CAST(:seconds AS double precision))',
    authorized_at: () => 'coalesce(authorized_at, clock_timestamp())',
  })
    .andWhere(
      `EXISTS (SELECT FROM mcp_servers WHERE id = :id AND deleted_at IS NULL
         AND credential_version = coalesce(CAST(:version AS integer), credential_version))`,
    )
    .setParameters({ seconds: tokens.expires_in ?? null, version: credentialVersion ?? null })
    .execute();
  return affected === 1;
}

/** Deletes the tokens: a person must authorize the server again. */
export async function clearTokens(tx: Db, id: string): Promise<void> {
  const forgotten = { tokens: null, tokens_expire_at: null, authorized_at: null };
  await updateRow(tx, id, { ...forgotten, tokens_version: () => 'tokens_version + 1' }).execute();
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

type Change = { [Key in keyof McpOauthRow]?: McpOauthRow[Key] | (() => string) };

function updateRow(tx: Db, id: string, change: Change): UpdateQueryBuilder<ObjectLiteral> {
  return tx.createQueryBuilder().update(McpOauthEntity).set(change).where('id = :id', { id });
}

function hashState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}
