import type { Db, Tx } from '../db/db.js';
import { emptyAnswers } from '../db/answers-of-resources.js';
import { McpServerEntity, type McpServerRow, type McpTool, type McpServerTools } from '../db/entities/mcp-servers.js';
import { runSql, sql } from '../db/sql.js';
import { ServiceError } from '../platform/errors.js';
import { seal } from '../platform/sealed.js';
import type { Credential } from './auth.js';
import { readTools } from './find-servers.js';
import { orTaken } from './names-taken.js';
import { pinColumns } from './pins.js';
import type { ProbeResult } from './probes.js';
import type { KeptTools } from './tools.js';
import { deleteUnusedToolsets } from './toolsets.js';

const now = (): string => 'clock_timestamp()';

type NewServer = Pick<
  McpServerRow,
  'id' | 'project_id' | 'name' | 'url' | 'allowed_tools' | 'pin_tools' | 'credentials' | 'required_approvals'
> & {
  credential: Credential;
};

/**
 * Inserts a server. `probed` is null if the server cannot be probed yet.
 * @throws ServiceError `mcp_server_name_taken`, `mcp_server_url_taken` if another request was first
 */
export async function insertServer(
  tx: Tx,
  keys: readonly Buffer[],
  { credential, ...server }: NewServer,
  probed: ProbeResult | null,
): Promise<void> {
  const [{ now: createdAt }] = await tx.query<[{ now: string }]>('SELECT clock_timestamp() AS now');
  const row = {
    ...server,
    ...credentialColumns(keys, server.id, credential),
    tools: probed?.tools ?? [],
    tools_left_out: probed?.leftOut ?? 0,
    changed_tools: [],
    server_name: probed?.serverName ?? null,
    last_probed_at: probed === null ? null : createdAt,
    created_at: createdAt,
    updated_at: createdAt,
  };
  // typeorm's type of a partial entity cannot describe JSON columns.
  await orTaken(tx.getRepository(McpServerEntity).insert(row as object));
  if (probed === null || !server.pin_tools) return;
  await updateRow(tx, server.id, await pinColumns(tx, { ...server, accepted_hash: null }, probed.tools));
}

type ServerChange = Pick<
  McpServerRow,
  'name' | 'allowed_tools' | 'pin_tools' | 'credentials' | 'required_approvals'
> & {
  credential: Credential | undefined;
  /** What the change has listed; null if it lists nothing, or cannot yet. */
  probed: ProbeResult | null;
};

/** Writes a configuration change to a locked row. @throws ServiceError `mcp_server_name_taken` */
export async function updateServer(
  tx: Tx,
  keys: readonly Buffer[],
  server: McpServerRow,
  { credential, probed, ...fields }: ServerChange,
): Promise<void> {
  const { id } = server;
  const changed = { ...server, ...fields };
  await orTaken(updateRow(tx, id, { ...fields, updated_at: now }));
  if (credential !== undefined) {
    const credential_version = server.credential_version + 1;
    await updateRow(tx, id, { ...credentialColumns(keys, id, credential), credential_version });
  }
  if (probed !== null) await storeProbe(tx, changed, probed);
  else if (fields.pin_tools !== server.pin_tools) await switchPins(tx, changed);
}

/** Stores the result of a probe in a locked row. It is not a configuration change, so `updated_at` stays. */
export async function storeProbe(tx: Tx, server: McpServerRow, probed: ProbeResult): Promise<void> {
  await updateRow(tx, server.id, { server_name: probed.serverName, last_probed_at: now });
  await storeTools(tx, server, probed);
}

export async function storeTools(tx: Tx, server: McpServerRow, { tools, leftOut }: KeptTools): Promise<void> {
  await updateRow(tx, server.id, { tools, tools_left_out: leftOut, ...(await pinColumns(tx, server, tools)) });
}

/** Pins the current tools, or unpins them. Before the first tool list there is nothing to pin. */
async function switchPins(tx: Tx, server: McpServerRow): Promise<void> {
  if (server.pin_tools && server.last_probed_at === null) return;
  const tools = server.pin_tools ? await readTools(tx, server.id) : [];
  await updateRow(tx, server.id, await pinColumns(tx, server, tools));
  await deleteUnusedToolsets(tx, server.id);
}

/** Soft-deletes a locked row and erases the credential (decisions.md "Resources"). */
export async function deleteServer(tx: Tx, { id }: McpServerRow): Promise<void> {
  await updateRow(tx, id, { deleted_at: now, credential: null });
  await emptyAnswers(tx, [id]);
  await deleteUnusedToolsets(tx, id);
}

/**
 * Records the result of a turn's connection (docs/interface.md). Many turns
 * write to the same row, so it skips a locked row, whose writer records a result of the same moment, and it commits
 * asynchronously.
 */
export async function recordServerState(db: Db, id: string, failure: string | null): Promise<void> {
  await runSql(
    db,
    sql`WITH setting AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
          server AS (
            SELECT id FROM mcp_servers, setting WHERE id = ${id} AND deleted_at IS NULL FOR NO KEY UPDATE OF mcp_servers SKIP LOCKED)
        UPDATE mcp_servers SET last_connect_error = ${failure}::text,
          last_connected_at = CASE WHEN ${failure}::text IS NULL THEN clock_timestamp() ELSE last_connected_at END
        FROM server WHERE mcp_servers.id = server.id`,
  );
}

/** @throws ServiceError `unknown_mcp_tool` listing the names that are not tools of the server */
export function requireKnownTools(
  names: readonly string[] | null,
  { tools, leftOut }: { tools: readonly Pick<McpTool, 'name'>[]; leftOut: number },
  field = 'allowed_tools',
): void {
  const unknown = unknownNames(names, tools);
  if (unknown.length === 0) return;
  const rest = leftOut === 0 ? '' : ` It lists ${leftOut} more tools, which are left out (tools_left_out).`;
  throw new ServiceError(
    'unknown_mcp_tool',
    `${field} names tools that the MCP server ${leftOut === 0 ? 'does not have' : 'does not have among those that are kept'}.${rest}`,
    { tools: unknown },
  );
}

/** The names that are not among the tools. */
export function unknownNames(names: readonly string[] | null, tools: readonly Pick<McpTool, 'name'>[]): string[] {
  const known = new Set(tools.map(({ name }) => name));
  return (names ?? []).filter((name) => !known.has(name));
}

function credentialColumns(
  keys: readonly Buffer[],
  id: string,
  { type, header, secret }: Credential,
): Pick<McpServerRow, 'auth_type' | 'auth_header' | 'credential'> {
  const credential = secret === null ? null : seal(keys, 'mcp_servers.credential', id, secret);
  return { auth_type: type, auth_header: header, credential };
}

type Change = {
  [Key in keyof (McpServerRow & McpServerTools)]?: (McpServerRow & McpServerTools)[Key] | (() => string);
};

export async function updateRow(tx: Tx, id: string, change: Change): Promise<void> {
  if (Object.keys(change).length === 0) return;
  await tx
    .createQueryBuilder()
    .update(McpServerEntity)
    .set(change as object)
    .where('id = :id', { id })
    .execute();
}
