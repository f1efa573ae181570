import type { EntityManager } from 'typeorm';
import type { McpAuthType, McpServerRow, McpToolRow } from '../db/entities/mcp-servers.js';
import { readPage } from '../db/read-page.js';
import { violatedUniqueConstraint, type Db } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { seal, unseal } from '../platform/sealed.js';
import type { Credential } from './auth.js';
import type { ProbeResult } from './probe.js';

/** A server of the project, or undefined when missing, deleted or of another project. */
export async function findServer(db: Db, projectId: string, id: string): Promise<McpServerRow | undefined> {
  const [row] = await db.query<McpServerRow[]>(
    'SELECT * FROM mcp_servers WHERE id = $1 AND project_id = $2 AND deleted_at IS NULL',
    [id, projectId],
  );
  return row;
}

/** The servers of a session that still exist, in the order of `ids`. */
export async function findServers(db: Db, projectId: string, ids: readonly string[]): Promise<McpServerRow[]> {
  return db.query<McpServerRow[]>(
    `SELECT * FROM mcp_servers WHERE id = ANY($1) AND project_id = $2 AND deleted_at IS NULL
     ORDER BY array_position($1, id)`,
    [ids, projectId],
  );
}

/** A page, newest first. */
export async function listServers(
  db: Db,
  projectId: string,
  { limit, after }: PageRequest,
): Promise<PageRows<McpServerRow>> {
  return readPage<McpServerRow>(db, {
    query: `SELECT * FROM mcp_servers WHERE project_id = $1 AND deleted_at IS NULL
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    values: [projectId, after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

/** Refuses a name or url that the project already uses; the unique indexes decide again when the row is written. */
export async function refuseTaken(db: Db, projectId: string, name: string, url: string): Promise<void> {
  const taken = await db.query<Pick<McpServerRow, 'name' | 'url'>[]>(
    'SELECT name, url FROM mcp_servers WHERE project_id = $1 AND deleted_at IS NULL AND (name = $2 OR url = $3)',
    [projectId, name, url],
  );
  if (taken.some((row) => row.name === name)) throw nameTaken();
  if (taken.some((row) => row.url === url)) throw urlTaken();
}

/** Refuses a name that another server of the project uses. */
export async function refuseTakenName(db: Db, server: McpServerRow, name: string): Promise<void> {
  const [taken] = await db.query<unknown[]>(
    'SELECT 1 FROM mcp_servers WHERE project_id = $1 AND deleted_at IS NULL AND name = $2 AND id <> $3',
    [server.project_id, name, server.id],
  );
  if (taken !== undefined) throw nameTaken();
}

export interface NewServer {
  id: string;
  projectId: string;
  name: string;
  url: string;
  credential: Credential;
  allowedTools: string[] | null;
}

/** @throws ServiceError `mcp_server_name_taken`, `mcp_server_url_taken` when another request was faster */
export async function insertServer(
  tx: EntityManager,
  keys: readonly Buffer[],
  server: NewServer,
  probed: ProbeResult,
): Promise<McpServerRow> {
  const rows = await takenOr(
    tx.query<McpServerRow[]>(
      `INSERT INTO mcp_servers (id, project_id, name, url, auth_type, auth_header, credential, allowed_tools,
         tools, server_name, last_probed_at, created_at, updated_at)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now, now, now FROM clock_timestamp() AS now RETURNING *`,
      [
        server.id,
        server.projectId,
        server.name,
        server.url,
        server.credential.type,
        server.credential.header,
        sealed(keys, server.id, server.credential),
        server.allowedTools,
        JSON.stringify(probed.tools),
        probed.serverName,
      ],
    ),
  );
  return rows[0]!;
}

/** The row, locked until the transaction ends; undefined once it is deleted. */
export async function lockServer(tx: EntityManager, id: string): Promise<McpServerRow | undefined> {
  const [row] = await tx.query<McpServerRow[]>(
    'SELECT * FROM mcp_servers WHERE id = $1 AND deleted_at IS NULL FOR UPDATE',
    [id],
  );
  return row;
}

/** A new credential comes with the probe it was tried in. */
export interface NewAuth {
  credential: Credential;
  probed: ProbeResult;
}

export interface ServerChange {
  name: string;
  allowedTools: string[] | null;
  auth: NewAuth | undefined;
}

/** Writes a configuration change to a locked row. @throws ServiceError `mcp_server_name_taken` */
export async function updateServer(
  tx: EntityManager,
  keys: readonly Buffer[],
  id: string,
  { name, allowedTools, auth }: ServerChange,
): Promise<McpServerRow> {
  const [rows] = await takenOr(
    tx.query<[McpServerRow[], number]>(
      `UPDATE mcp_servers SET name = $2, allowed_tools = $3, updated_at = clock_timestamp() WHERE id = $1 RETURNING *`,
      [id, name, allowedTools],
    ),
  );
  if (auth === undefined) return rows[0]!;
  const { credential, probed } = auth;
  await tx.query(
    `UPDATE mcp_servers SET auth_type = $2, auth_header = $3, credential = $4,
       credential_version = credential_version + 1 WHERE id = $1`,
    [id, credential.type, credential.header, sealed(keys, id, credential)],
  );
  return storeProbe(tx, id, probed);
}

/** Keeps what a probe found; no configuration change, so `updated_at` stays. */
export async function storeProbe(tx: EntityManager, id: string, probed: ProbeResult): Promise<McpServerRow> {
  const [rows] = await tx.query<[McpServerRow[], number]>(
    `UPDATE mcp_servers SET tools = $2, server_name = $3, last_probed_at = clock_timestamp() WHERE id = $1 RETURNING *`,
    [id, JSON.stringify(probed.tools), probed.serverName],
  );
  return rows[0]!;
}

/** Deletes softly and wipes the credential (contract.md §2). False when it was gone already. */
export async function deleteServer(db: Db, id: string): Promise<boolean> {
  const [, count] = await db.query<[unknown[], number]>(
    `UPDATE mcp_servers SET deleted_at = clock_timestamp(), credential = NULL
     WHERE id = $1 AND deleted_at IS NULL`,
    [id],
  );
  return count === 1;
}

/** The outcome of connecting in a turn (spec.md "MCP server": last_connected_at, last_connect_error). */
export async function recordConnection(db: Db, id: string, fault: string | null): Promise<void> {
  await db.query(
    fault === null
      ? `UPDATE mcp_servers SET last_connected_at = clock_timestamp(), last_connect_error = NULL
         WHERE id = $1 AND deleted_at IS NULL`
      : 'UPDATE mcp_servers SET last_connect_error = $2 WHERE id = $1 AND deleted_at IS NULL',
    fault === null ? [id] : [id, fault],
  );
}

/** Opens the row's credential, where it is about to be sent. @throws UnsealError */
export function credentialOf(
  keys: readonly Buffer[],
  row: { id: string; auth_type: McpAuthType; auth_header: string | null; credential: string | null },
): Credential {
  const secret = row.credential === null ? null : unseal(keys, 'mcp_servers.credential', row.id, row.credential);
  return { type: row.auth_type, header: row.auth_header, secret };
}

/** @throws ServiceError `unknown_mcp_tool` listing the names that are not among the tools */
export function requireKnownTools(allowed: readonly string[] | null, tools: readonly McpToolRow[]): void {
  const known = new Set(tools.map(({ name }) => name));
  const unknown = (allowed ?? []).filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new ServiceError('unknown_mcp_tool', 'allowed_tools names tools that the MCP server does not have.', {
      tools: unknown,
    });
  }
}

function sealed(keys: readonly Buffer[], id: string, { secret }: Credential): string | null {
  return secret === null ? null : seal(keys, 'mcp_servers.credential', id, secret);
}

async function takenOr<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    const constraint = violatedUniqueConstraint(error);
    if (constraint === 'mcp_servers_name') throw nameTaken();
    if (constraint === 'mcp_servers_url') throw urlTaken();
    throw error;
  }
}

function nameTaken(): ServiceError {
  return new ServiceError('mcp_server_name_taken', 'Another MCP server of the project has this name.');
}

function urlTaken(): ServiceError {
  return new ServiceError('mcp_server_url_taken', 'Another MCP server of the project has this url.');
}
