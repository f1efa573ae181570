import { createHash } from 'node:crypto';
import type { Db, Tx } from '../db/db.js';
import type { McpTool } from '../db/entities/mcp-servers.js';
import { ByteCache } from '../platform/byte-cache.js';
import { BYTES_PER_JSON_VALUE, countJsonValues } from '../platform/value-count.js';
import { MIB } from '../platform/units.js';

/** Memory limit of the parsed toolsets cached in this process, estimated from their text and values. */
const MAX_CACHED_BYTES = 64 * MIB;

/** Parsed versions. A version never changes, so entries never expire. */
const cache = new ByteCache<readonly McpTool[]>(MAX_CACHED_BYTES);

/** The hash that names a version. Postgres computes the same one for the server's row. */
export function hashTools(tools: readonly McpTool[]): string {
  return createHash('sha256').update(JSON.stringify(tools)).digest('hex');
}

/** Stores a version of a server's tools if it is new. Returns its hash. */
export async function storeToolset(tx: Tx, serverId: string, tools: McpTool[]): Promise<string> {
  const hash = hashTools(tools);
  await tx.query('INSERT INTO mcp_toolsets (server_id, hash, tools) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
    serverId,
    hash,
    JSON.stringify(tools),
  ]);
  return hash;
}

/** Reads a stored version that a server or an open turn refers to. */
export async function loadToolset(db: Db, serverId: string, hash: string): Promise<readonly McpTool[]> {
  const tools = await findToolset(db, serverId, hash);
  if (tools === null) throw new Error(`version ${hash} of the tools of ${serverId} was deleted`);
  return tools;
}

/** Reads a stored version. Null if it was deleted: only turns that have ended refer to such a version. */
export async function findToolset(db: Db, serverId: string, hash: string): Promise<readonly McpTool[] | null> {
  const key = `${serverId}/${hash}`;
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const [row] = await db.query<{ tools: string }[]>(
    'SELECT tools::text AS tools FROM mcp_toolsets WHERE server_id = $1 AND hash = $2',
    [serverId, hash],
  );
  if (row === undefined) return null;
  const tools = JSON.parse(row.tools) as McpTool[];
  cache.set(key, tools, row.tools.length + BYTES_PER_JSON_VALUE * countJsonValues(tools));
  return tools;
}

/** Deletes the versions of a server's tools that neither the server nor an open turn refers to. */
export async function deleteUnusedToolsets(tx: Tx, serverId: string): Promise<void> {
  // Two statements: the second one must see the turns that committed while the first waited for locks.
  const locked = await tx.query<{ hash: string }[]>(
    'SELECT hash FROM mcp_toolsets WHERE server_id = $1 FOR UPDATE SKIP LOCKED',
    [serverId],
  );
  await tx.query(
    `DELETE FROM mcp_toolsets WHERE server_id = $1 AND hash = ANY($2)
       AND NOT EXISTS (SELECT FROM mcp_servers WHERE id = $1 AND deleted_at IS NULL
         AND mcp_toolsets.hash IN (toolset_hash, accepted_hash))
       AND NOT EXISTS (SELECT FROM open_turns JOIN turn_servers USING (turn_id)
         WHERE project_id = (SELECT project_id FROM mcp_servers WHERE id = $1)
           AND turn_servers.server_id = $1 AND toolset_hash = mcp_toolsets.hash)`,
    [serverId, locked.map(({ hash }) => hash)],
  );
}
