import type { Tx } from '../db/db.js';
import type { McpServerRow } from '../db/entities/mcp-servers.js';
import { deleteUnusedToolsets } from './toolsets.js';

interface TurnServerRecord {
  server: McpServerRow;
  connected: boolean;
  /** Null: all tools of the version. */
  offeredTools: string[] | null;
}

/**
 * Records the servers of a turn, each with the version of its tools. A version that no turn has used yet is copied from
 * the server's row; unused older versions are deleted.
 * @throws Error if a probe has replaced the version meanwhile: read the servers again
 */
export async function insertTurnServers(tx: Tx, turnId: string, records: readonly TurnServerRecord[]): Promise<void> {
  const ids = records.map(({ server }) => server.id);
  const hashes = records.map(({ server }) => server.toolset_hash);
  // Two turns that add the same versions must add them in the same order, or each would wait for the other.
  const added = await tx.query<{ server_id: string }[]>(
    `INSERT INTO mcp_toolsets (server_id, hash, tools)
     SELECT id, toolset_hash, tools FROM mcp_servers JOIN unnest($1::text[], $2::text[]) AS wanted (server_id, hash)
       ON id = server_id AND toolset_hash = hash
     WHERE NOT EXISTS (SELECT FROM mcp_toolsets kept WHERE kept.server_id = id AND kept.hash = toolset_hash)
     ORDER BY id
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
    `INSERT INTO turn_servers (turn_id, server_id, index, name, toolset_hash, offered_tools, connected, as_user, required_approvals)
     SELECT $1, id, n, name, hash,
       CASE WHEN offered IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(offered)) END, connected, as_user, required
     FROM unnest($2::text[], $3::text[], $4::text[], $5::json[], $6::boolean[], $7::boolean[], $8::json[])
       WITH ORDINALITY AS server (id, name, hash, offered, connected, as_user, required, n)`,
    [
      turnId,
      ids,
      records.map(({ server }) => server.name),
      hashes,
      records.map(({ offeredTools }) => (offeredTools === null ? null : JSON.stringify(offeredTools))),
      records.map(({ connected }) => connected),
      records.map(({ server }) => server.credentials === 'user'),
      records.map(({ server: { required_approvals: required } }) =>
        required.length > 0 ? JSON.stringify(required) : null,
      ),
    ],
  );
  for (const { server_id } of added) await deleteUnusedToolsets(tx, server_id);
}
