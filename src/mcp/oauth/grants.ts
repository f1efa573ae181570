import { randomUUID } from 'node:crypto';
import type { Db, Tx } from '../../db/db.js';
import type { McpOauthRow, OauthDiscovery } from '../../db/entities/mcp-oauth.js';
import { joinSql, runSql, sql, type Sql } from '../../db/sql.js';
import { seal, unseal } from '../../platform/sealed.js';
import { REQUEST_TIMEOUT_MS } from './oauth-fetch.js';
import type { OauthClient } from './store.js';

export interface OauthTokens {
  access_token: string;
  refresh_token?: string;
  /** Lifetime in seconds from the authorization server. */
  expires_in?: number;
}

/** Tokens and where they belong: they are shown to this authorization server only, as this client. */
export interface Grant {
  tokens: OauthTokens;
  client: OauthClient;
  server: OauthDiscovery['server'];
  resource: string;
}

export type SealedGrant = Pick<McpOauthRow, 'id' | 'tokens'>;
export type StoredGrant = Pick<McpOauthRow, 'id' | 'tokens' | 'tokens_expire_at'>;

/** Longer than the request of a refresh and its UPDATE. After that, the process is taken for dead. */
const CLAIM_SECONDS = REQUEST_TIMEOUT_MS / 1000 + 4;

/** @throws UnsealError */
export function openGrant(keys: readonly Buffer[], { id, tokens }: SealedGrant): Grant | null {
  return tokens === null ? null : (JSON.parse(unseal(keys, 'mcp_oauth.tokens', id, tokens)) as Grant);
}

/** True if one authorization server issued both to one client. Revoking one of them may end both (RFC 7009 §2). */
export function isSameParty(one: Grant, other: Grant): boolean {
  return one.server.issuer === other.server.issuer && one.client.client_id === other.client.client_id;
}

/** Null if the server has no authorization (any more). */
export async function readGrant(db: Db, id: string): Promise<StoredGrant | null> {
  const [row] = await runSql<StoredGrant>(db, sql`SELECT id, tokens, tokens_expire_at FROM mcp_oauth WHERE id = ${id}`);
  return row ?? null;
}

/**
 * Stores the grant of a finished authorization, unless its owner, a server or a user's credential, is deleted or was changed
 * since `credentialVersion`. A user's credential gets a new version: calls may use it again. Returns the replaced grant; null
 * if nothing was stored.
 */
export async function storeGrant(
  tx: Tx,
  keys: readonly Buffer[],
  id: string,
  grant: Grant,
  credentialVersion: number,
): Promise<SealedGrant | null> {
  const [replaced] = await runSql<SealedGrant>(tx, sql`SELECT id, tokens FROM mcp_oauth WHERE id = ${id} FOR UPDATE`);
  const isStored = await update(
    tx,
    id,
    grantColumns(keys, id, grant),
    sql`(EXISTS (SELECT FROM mcp_servers WHERE id = ${id} AND deleted_at IS NULL
          AND credential_version = ${credentialVersion})
        OR EXISTS (SELECT FROM user_credentials WHERE id = ${id} AND credential_version = ${credentialVersion}))`,
  );
  if (isStored)
    await runSql(
      tx,
      sql`UPDATE user_credentials SET credential_version = credential_version + 1, refused_at = NULL, last_error = NULL,
            updated_at = clock_timestamp() WHERE id = ${id}`,
    );
  return isStored ? replaced! : null;
}

/** Claims the refresh of exactly these tokens for this process. Null if another one has the claim, or they changed. */
export async function claimRefresh(db: Db, { id, tokens }: SealedGrant): Promise<string | null> {
  const claim = randomUUID();
  const isClaimed = await update(
    db,
    id,
    sql`refresh_claim = ${claim}, refresh_claimed_until = clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS})`,
    sql`tokens = ${tokens} AND (refresh_claimed_until IS NULL OR refresh_claimed_until < clock_timestamp())`,
  );
  return isClaimed ? claim : null;
}

/** Stores refreshed tokens. False if the claim has gone to another process, or the authorization was replaced. */
export async function storeRefreshed(
  db: Db,
  keys: readonly Buffer[],
  id: string,
  claim: string,
  grant: Grant,
): Promise<boolean> {
  return update(db, id, grantColumns(keys, id, grant), sql`refresh_claim = ${claim}`);
}

/** Deletes the tokens, whose refresh was refused. False as `storeRefreshed`. */
export async function deleteRefused(db: Db, id: string, claim: string): Promise<boolean> {
  const columns = sql`tokens = NULL, tokens_expire_at = NULL, authorized_at = NULL, ${UNCLAIMED}`;
  return update(db, id, columns, sql`refresh_claim = ${claim}`);
}

/** Gives the claim up after a failure, so that a retry can take it. */
export async function releaseClaim(db: Db, id: string, claim: string): Promise<void> {
  await update(db, id, UNCLAIMED, sql`refresh_claim = ${claim}`);
}

const UNCLAIMED = sql`refresh_claim = NULL, refresh_claimed_until = NULL`;

function grantColumns(keys: readonly Buffer[], id: string, grant: Grant): Sql {
  const lifetime = grant.tokens.expires_in ?? null;
  return joinSql(
    [
      sql`tokens = ${seal(keys, 'mcp_oauth.tokens', id, JSON.stringify(grant))}`,
      sql`tokens_expire_at = clock_timestamp() + make_interval(secs => ${lifetime}::double precision)`,
      sql`authorized_at = coalesce(authorized_at, clock_timestamp())`,
      UNCLAIMED,
    ],
    ', ',
  );
}

async function update(db: Db, id: string, columns: Sql, condition: Sql): Promise<boolean> {
  const rows = await runSql(
    db,
    sql`WITH changed AS (UPDATE mcp_oauth SET ${columns} WHERE id = ${id} AND ${condition} RETURNING id)
        SELECT FROM changed`,
  );
  return rows.length === 1;
}
