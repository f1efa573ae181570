import { createHash } from 'node:crypto';
import type { AuditSender } from '../../db/entities/audit-sender.js';
import type { Db, ObjectLiteral, Tx, UpdateQuery } from '../../db/db.js';
import { McpOauthEntity, type McpOauthRow, type OauthDiscovery } from '../../db/entities/mcp-oauth.js';
import { runSql, sql } from '../../db/sql.js';
import { seal, unseal } from '../../platform/sealed.js';
import type { ClientAuth } from './client-auth.js';
import type { SealedGrant } from './grants.js';

/** decisions.md "OAuth": lifetime of a started authorization. */
const STATE_SECONDS = 600;

export interface OauthClient {
  client_id: string;
  client_secret?: string;
  token_endpoint_auth_method?: string;
  /** The way that its authorization server took last. */
  auth?: ClientAuth;
}

export interface OauthSetup {
  scopes: string[] | null;
  client: OauthClient;
  clientIsDynamic: boolean;
  discovery: OauthDiscovery;
  redirectUri: string;
}

export interface PendingAuthorization {
  state: string;
  codeVerifier: string;
}

/**
 * Stores the OAuth setup of a server and the started authorization. Replaces an earlier authorization that is not
 * finished. Tokens stay, with the client and the authorization server that they came with.
 */
export async function storeSetup(
  tx: Tx,
  keys: readonly Buffer[],
  id: string,
  setup: OauthSetup & { begunBy: AuditSender },
  { state, codeVerifier }: PendingAuthorization,
): Promise<string> {
  const row = {
    id,
    scopes: setup.scopes,
    client: seal(keys, 'mcp_oauth.client', id, JSON.stringify(setup.client)),
    client_is_dynamic: setup.clientIsDynamic,
    discovery: setup.discovery,
    redirect_uri: setup.redirectUri,
    begun_by: setup.begunBy,
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

/**
 * Consumes a state. Null if it is unknown, used or expired. The row stays locked until the transaction ends, so that a
 * server read in it has the `credential_version` of this authorization.
 */
export async function takeState(tx: Tx, state: string): Promise<McpOauthRow | null> {
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

/** Which of the states belong to an authorization that has begun. */
export async function findStates(db: Db, states: string[]): Promise<Map<string, true>> {
  const hashes = new Map(states.map((state) => [hashState(state).toString('base64'), state]));
  const bytes = [...hashes.keys()].map((hash) => Buffer.from(hash, 'base64'));
  const rows = await runSql<{ hash: Buffer }>(
    db,
    sql`SELECT state_hash AS hash FROM mcp_oauth WHERE state_hash = ANY(${bytes}::bytea[])`,
  );
  return new Map(rows.map(({ hash }) => [hashes.get(hash.toString('base64'))!, true]));
}

/** Deletes the authorization of a server. Returns its tokens, to be revoked. */
export async function deleteOauth(tx: Tx, id: string): Promise<SealedGrant | null> {
  const [deleted] = await runSql<SealedGrant>(
    tx,
    sql`WITH deleted AS (DELETE FROM mcp_oauth WHERE id = ${id} RETURNING id, tokens) SELECT id, tokens FROM deleted`,
  );
  return deleted ?? null;
}

/** @throws UnsealError */
export function openClient(keys: readonly Buffer[], { id, client }: Pick<McpOauthRow, 'id' | 'client'>): OauthClient {
  return JSON.parse(unseal(keys, 'mcp_oauth.client', id, client)) as OauthClient;
}

export function openCodeVerifier(keys: readonly Buffer[], { id, code_verifier }: McpOauthRow): string {
  return unseal(keys, 'mcp_oauth.code_verifier', id, code_verifier!);
}

type Change = { [Key in keyof McpOauthRow]?: McpOauthRow[Key] | (() => string) };

function updateRow(tx: Db, id: string, change: Change): UpdateQuery<ObjectLiteral> {
  return tx.createQueryBuilder().update(McpOauthEntity).set(change).where('id = :id', { id });
}

function hashState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}
