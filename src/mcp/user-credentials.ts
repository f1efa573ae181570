import type { Db, Tx } from '../db/db.js';
import { emptyAnswers } from '../db/answers-of-resources.js';
import type { McpAuthType, McpServerRow } from '../db/entities/mcp-servers.js';
import { readPage } from '../db/read-page.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { USABLE_CREDENTIAL } from '../db/usable-credential.js';
import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { seal } from '../platform/sealed.js';
import type { Credential } from './auth.js';
import { findServers } from './find-servers.js';
import type { SealedGrant } from './oauth/grants.js';

/** The credential of a user for a server (decisions.md "User credentials"). */
export interface UserCredential {
  id: string;
  project_id: string;
  mcp_server_id: string;
  end_user: string;
  auth_type: Exclude<McpAuthType, 'NONE'>;
  auth_header: string | null;
  /** Sealed; null for OAUTH. */
  credential: string | null;
  /** Incremented when it is replaced or authorized. */
  credential_version: number;
  /** A person has authorized it; always true without OAUTH. */
  is_authorized: boolean;
  /** Calls may use it: it is authorized, and the server has not refused this version. */
  is_usable: boolean;
  last_used_at: string | null;
  last_error: string | null;
  created_at: string;
  updated_at: string;
}

/** A server as a turn uses it: with the credential of the session's user, if it is a server of that kind. */
export interface TurnServerRow extends McpServerRow {
  /** Undefined: the server's own credential is used. Null: the user has none that can be used. */
  user_credential?: UserCredential | null;
}

const SHOWN = `c.id, c.project_id, c.mcp_server_id, c.end_user, c.auth_type, c.auth_header, c.credential,
  c.credential_version, (c.auth_type <> 'OAUTH' OR o.authorized_at IS NOT NULL) AS is_authorized,
  ${USABLE_CREDENTIAL} AS is_usable, c.last_used_at, c.last_error, c.created_at, c.updated_at`;
const FROM = 'user_credentials c LEFT JOIN mcp_oauth o USING (id)';

/** Loads the servers of a turn's session that still exist, in the order of `ids`, with the credentials of its user. */
export async function findTurnServers(db: Db, turnId: string, ids: readonly string[]): Promise<TurnServerRow[]> {
  const [turn] = await runSql<{ project_id: string; end_user: string | null; of_user: string[] }>(
    db,
    sql`SELECT turns.project_id, end_user,
          ARRAY(SELECT server_id FROM turn_servers WHERE turn_id = turns.id AND as_user) AS of_user
        FROM turns JOIN sessions ON sessions.id = session_id WHERE turns.id = ${turnId}`,
  );
  if (turn === undefined) return [];
  const servers = await findServers(db, turn.project_id, ids);
  const ofUser = turn.of_user.filter((id) => ids.includes(id));
  if (ofUser.length === 0) return servers;
  const found =
    turn.end_user === null
      ? []
      : await select(
          db,
          sql`c.project_id = ${turn.project_id} AND c.end_user = ${turn.end_user} AND c.mcp_server_id = ANY(${ofUser}::text[])`,
        );
  return servers.map((server) => {
    if (!ofUser.includes(server.id)) return server;
    const own = found.find(({ mcp_server_id, is_usable }) => mcp_server_id === server.id && is_usable);
    return { ...server, user_credential: own ?? null };
  });
}

export async function findCredential(db: Db, projectId: string, id: string): Promise<UserCredential | null> {
  const [row] = await select(db, sql`c.project_id = ${projectId} AND c.id = ${id}`);
  return row ?? null;
}

/** In any project. Only for requests authorized by a secret other than an API key. */
export async function findCredentialById(db: Db, id: string): Promise<UserCredential | null> {
  const [row] = await select(db, sql`c.id = ${id}`);
  return row ?? null;
}

/** The credential of a user for a server; null without one. */
export async function findCredentialOf(db: Db, serverId: string, user: string): Promise<UserCredential | null> {
  const [row] = await select(db, sql`c.mcp_server_id = ${serverId} AND c.end_user = ${user}`);
  return row ?? null;
}

function select(db: Db, condition: Sql): Promise<UserCredential[]> {
  return runSql<UserCredential>(db, sql`SELECT ${rawSql(SHOWN)} FROM ${rawSql(FROM)} WHERE ${condition}`);
}

interface CredentialFilter {
  user?: string | undefined;
  mcp_server_id?: string | undefined;
}

export function listCredentials(
  db: Db,
  projectId: string,
  { user, mcp_server_id }: CredentialFilter,
  { limit, after }: PageRequest,
): Promise<PageRows<UserCredential>> {
  const query = `SELECT ${SHOWN} FROM ${FROM}
    WHERE c.project_id = $1 AND ($2::text IS NULL OR c.end_user = $2) AND ($3::text IS NULL OR c.mcp_server_id = $3)
      AND ($4::timestamptz IS NULL OR (c.created_at, c.id) < ($4, $5))
    ORDER BY c.created_at DESC, c.id DESC LIMIT ${limit + 1}`;
  const values = [projectId, user ?? null, mcp_server_id ?? null, after?.[0] ?? null, after?.[1] ?? null];
  return readPage<UserCredential>(db, { query, values, order: 'created_at DESC, id DESC', limit });
}

/**
 * Stores the credential of a user, in place of an earlier one, whose id it keeps. The server's row must be locked. Returns the
 * id, what it replaced, and the tokens that are no longer used.
 */
export async function putCredential(
  tx: Tx,
  keys: readonly Buffer[],
  server: McpServerRow,
  user: string,
  { type, header, secret }: Credential,
): Promise<{ id: string; replaced: DroppedCredential | null; grants: SealedGrant[] }> {
  const found = await findCredentialOf(tx, server.id, user);
  const id = found?.id ?? newId('credential');
  const sealed = secret === null ? null : seal(keys, 'user_credentials.credential', id, secret);
  const [stored] = await runSql<{ version: number }>(
    tx,
    sql`INSERT INTO user_credentials (id, project_id, mcp_server_id, end_user, auth_type, auth_header, credential)
        VALUES (${id}, ${server.project_id}, ${server.id}, ${user}, ${type}, ${header}, ${sealed})
        ON CONFLICT (id) DO UPDATE SET auth_type = excluded.auth_type, auth_header = excluded.auth_header,
          credential = excluded.credential, credential_version = user_credentials.credential_version + 1,
          refused_at = NULL, last_error = NULL, updated_at = clock_timestamp()
        RETURNING credential_version AS version`,
  );
  if (found === null) return { id, replaced: null, grants: [] };
  return { id, replaced: { id, before: stored!.version }, grants: await deleteGrants(tx, [id]) };
}

/** Deletes credentials. Returns which, and their tokens. */
export async function deleteCredentials(
  tx: Tx,
  projectId: string,
  which: { id: string } | { user: string } | { serverId: string },
): Promise<{ dropped: DroppedCredential[]; grants: SealedGrant[] }> {
  const condition =
    'id' in which
      ? sql`id = ${which.id}`
      : 'user' in which
        ? sql`end_user = ${which.user}`
        : sql`mcp_server_id = ${which.serverId}`;
  const rows = await runSql<{ id: string }>(
    tx,
    sql`WITH deleted AS (DELETE FROM user_credentials WHERE project_id = ${projectId} AND ${condition} RETURNING id)
        SELECT id FROM deleted`,
  );
  const ids = rows.map(({ id }) => id);
  await emptyAnswers(tx, ids);
  const dropped = ids.map((id) => ({ id, before: null }));
  return { dropped, grants: ids.length === 0 ? [] : await deleteGrants(tx, ids) };
}

async function deleteGrants(tx: Tx, ids: string[]): Promise<SealedGrant[]> {
  return runSql<SealedGrant>(
    tx,
    sql`WITH deleted AS (DELETE FROM mcp_oauth WHERE id = ANY(${ids}::text[]) RETURNING id, tokens)
        SELECT id, tokens FROM deleted`,
  );
}

/** A call has used the credential. Written once a minute, and when it follows an error. */
export async function recordUse(db: Db, { id, credential_version }: UserCredential): Promise<void> {
  await runSql(
    db,
    sql`UPDATE user_credentials SET last_used_at = clock_timestamp(), last_error = NULL
        WHERE id = ${id} AND credential_version = ${credential_version}
          AND (last_error IS NOT NULL OR last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '1 minute')`,
  );
}

/** The server has refused this version of the credential: no call uses it from now on. */
export async function recordRefusal(db: Db, { id, credential_version }: UserCredential, reason: string): Promise<void> {
  await runSql(
    db,
    sql`UPDATE user_credentials SET refused_at = clock_timestamp(), last_error = ${reason}
        WHERE id = ${id} AND credential_version = ${credential_version}`,
  );
}

/** A credential of which connections must close: those of versions before this one, or all because it was deleted (null). */
export interface DroppedCredential {
  id: string;
  before: number | null;
}

/** The channel on which workers receive dropped credentials, `ID` or `ID:VERSION`, one or several with commas. */
export const CREDENTIAL_CHANNEL = 'user_credentials';
const DROPPED_PER_PAYLOAD = 150;

/** Has every worker close the connections of credentials that were deleted or replaced. Lost: they close when idle. */
export async function notifyDropped(db: Db, dropped: readonly DroppedCredential[]): Promise<void> {
  const texts = dropped.map(({ id, before }) => (before === null ? id : `${id}:${before}`));
  const payloads: string[] = [];
  for (let at = 0; at < texts.length; at += DROPPED_PER_PAYLOAD)
    payloads.push(texts.slice(at, at + DROPPED_PER_PAYLOAD).join(','));
  if (payloads.length === 0) return;
  await runSql(db, sql`SELECT pg_notify(${CREDENTIAL_CHANNEL}, ids) FROM unnest(${payloads}::text[]) AS ids`).catch(
    () => undefined,
  );
}

export function droppedOf(payload: string): DroppedCredential[] {
  return payload.split(',').map((text) => {
    const [id, before] = text.split(':');
    return { id: id!, before: before === undefined ? null : Number(before) };
  });
}

export function credentialNotFound(): never {
  throw new ServiceError('credential_not_found', 'There is no such credential.');
}
