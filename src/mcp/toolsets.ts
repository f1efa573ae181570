import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import type { McpServerRow, McpTool } from '../db/entities/mcp-servers.js';
import type { Db } from '../db/transaction.js';

/** Bytes of JSON whose parsed form a process keeps. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;

interface CachedToolset {
  tools: readonly McpTool[];
  bytes: number;
}

/** Parsed versions, the most recently used last. A version never changes, so that no entry can be out of date. */
const cache = new Map<string, CachedToolset>();
let cachedBytes = 0;

/** The name of a version. Postgres derives the same one for the server's own row. */
export function hashTools(tools: readonly McpTool[]): string {
  return createHash('sha256').update(JSON.stringify(tools)).digest('hex');
}

/** Stores a version of a server's tools, once. Returns its hash. */
export async function storeToolset(tx: EntityManager, serverId: string, tools: McpTool[]): Promise<string> {
  const hash = hashTools(tools);
  await tx.query('INSERT INTO mcp_toolsets (server_id, hash, tools) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
    serverId,
    hash,
    JSON.stringify(tools),
  ]);
  return hash;
}

/** Reads a stored version. */
export async function loadToolset(db: Db, serverId: string, hash: string): Promise<readonly McpTool[]> {
  const key = `${serverId}/${hash}`;
  const cached = cache.get(key);
  if (cached !== undefined) {
    cache.delete(key);
    cache.set(key, cached);
    return cached.tools;
  }
  const [row] = await db.query<{ tools: string }[]>(
    'SELECT tools::text AS tools FROM mcp_toolsets WHERE server_id = $1 AND hash = $2',
    [serverId, hash],
  );
  const tools = JSON.parse(row!.tools) as McpTool[];
  keep(key, { tools, bytes: row!.tools.length });
  return tools;
}

/** A server as a turn offers it. */
export interface TurnServerRecord {
  server: McpServerRow;
  connected: boolean;
  /** Null: all tools of the version. */
  offeredTools: string[] | null;
}

/**
 * Records the servers of a turn, each with the version of its tools. A version that no turn has used is copied from the
 * server's row, and older ones that nothing refers to are deleted.
 * @throws Error when a probe has replaced the version meanwhile: the servers must be read again
 */
export async function recordTurnServers(
  tx: EntityManager,
  turnId: string,
  records: readonly TurnServerRecord[],
): Promise<void> {
  const ids = records.map(({ server }) => server.id);
  const hashes = records.map(({ server }) => server.toolset_hash);
  const added = await tx.query<{ server_id: string }[]>(
    `INSERT INTO mcp_toolsets (server_id, hash, tools)
     SELECT id, toolset_hash, tools FROM mcp_servers JOIN unnest($1::text[], $2::text[]) AS wanted (server_id, hash)
       ON id = server_id AND toolset_hash = hash
     WHERE NOT EXISTS (SELECT FROM mcp_toolsets kept WHERE kept.server_id = id AND kept.hash = toolset_hash)
     ON CONFLICT DO NOTHING RETURNING server_id`,
    [ids, hashes],
  );
  // The lock keeps the versions from being deleted before the turn's rows are committed.
  const locked = await tx.query<unknown[]>(
    `SELECT FROM mcp_toolsets WHERE (server_id, hash) IN (SELECT * FROM unnest($1::text[], $2::text[])) FOR KEY SHARE`,
    [ids, hashes],
  );
  if (locked.length < records.length) throw new Error('the tools of an MCP server changed while the turn connected');
  await tx.query(
    `INSERT INTO turn_servers (turn_id, server_id, index, name, toolset_hash, offered_tools, connected)
     SELECT $1, id, n, name, hash,
       CASE WHEN offered IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(offered)) END, connected
     FROM unnest($2::text[], $3::text[], $4::text[], $5::json[], $6::boolean[])
       WITH ORDINALITY AS server (id, name, hash, offered, connected, n)`,
    [
      turnId,
      ids,
      records.map(({ server }) => server.name),
      hashes,
      records.map(({ offeredTools }) => (offeredTools === null ? null : JSON.stringify(offeredTools))),
      records.map(({ connected }) => connected),
    ],
  );
  for (const { server_id } of added) await deleteUnusedToolsets(tx, server_id);
}

/** Deletes the versions of a server's tools that neither the server nor an open turn refers to. */
export async function deleteUnusedToolsets(tx: EntityManager, serverId: string): Promise<void> {
  // Two statements: the second one sees the turns that committed while the first one waited for locks.
  const locked = await tx.query<{ hash: string }[]>(
    'SELECT hash FROM mcp_toolsets WHERE server_id = $1 FOR UPDATE SKIP LOCKED',
    [serverId],
  );
  await tx.query(
    `DELETE FROM mcp_toolsets WHERE server_id = $1 AND hash = ANY($2)
       AND NOT EXISTS (SELECT FROM mcp_servers WHERE id = $1 AND deleted_at IS NULL
         AND mcp_toolsets.hash IN (toolset_hash, accepted_hash))
       AND NOT EXISTS (SELECT FROM turns JOIN turn_servers ON turn_id = turns.id
         WHERE state IN ('queued', 'running') AND project_id = (SELECT project_id FROM mcp_servers WHERE id = $1)
           AND turn_servers.server_id = $1 AND toolset_hash = mcp_toolsets.hash)`,
    [serverId, locked.map(({ hash }) => hash)],
  );
}

function keep(key: string, entry: CachedToolset): void {
  cache.set(key, entry);
  cachedBytes += entry.bytes;
  for (const [oldest, { bytes }] of cache) {
    if (cachedBytes <= MAX_CACHED_BYTES) return;
    cache.delete(oldest);
    cachedBytes -= bytes;
  }
}
