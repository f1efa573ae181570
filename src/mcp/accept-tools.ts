import type { Tx } from '../db/db.js';
import type { McpServerRow, McpTool } from '../db/entities/mcp-servers.js';
import { pointerToken, ServiceError } from '../platform/errors.js';
import { readTools } from './find-servers.js';
import { acceptedColumns, digestOf, inPieces } from './pins.js';
import { requireKnownTools, updateRow } from './store.js';
import { deleteUnusedToolsets } from './toolsets.js';

/** What a person accepts: these tools, or all changed ones; each only in the version of its digest, if there is one. */
interface AcceptedTools {
  names?: string[];
  digests?: Record<string, string>;
}

/**
 * Accepts changed tools of a locked row.
 * @throws ServiceError `unknown_mcp_tool`, `tools_changed`, `validation_error` for a tool that was never shown
 */
export async function acceptTools(tx: Tx, server: McpServerRow, { names, digests }: AcceptedTools): Promise<void> {
  const seen = new Map(Object.entries(digests ?? {}));
  const known = { tools: server.tool_list, leftOut: server.tools_left_out };
  requireKnownTools(names ?? [], known, 'names');
  requireKnownTools([...seen.keys()], known, 'digests');
  const changed = server.changed_tools.map(({ name }) => name);
  const accepted = new Set(names ?? (digests === undefined ? changed : seen.keys()));
  requireSeen(server, accepted, seen);
  if (seen.size === 0 && changed.length === 0) return;
  const tools = await readTools(tx, server.id);
  const others: McpTool[] = [];
  for await (const tool of inPieces(tools))
    if (seen.has(tool.name) && seen.get(tool.name) !== digestOf(tool)) others.push(tool);
  if (others.length > 0) {
    throw new ServiceError(
      'tools_changed',
      'These tools have changed again. Read changed_tools, then accept the new digests.',
      {
        tools: others.map(({ name }) => name),
      },
    );
  }
  if (!server.pin_tools || changed.length === 0) return;
  const columns = await acceptedColumns(tx, server, tools, accepted);
  await updateRow(tx, server.id, { ...columns, updated_at: () => 'clock_timestamp()' });
  await deleteUnusedToolsets(tx, server.id);
}

/** A tool that is too large for `changed_tools` is accepted only by somebody who has read it on its own. */
function requireSeen(
  { id, changed_tools }: McpServerRow,
  accepted: ReadonlySet<string>,
  seen: ReadonlyMap<string, string>,
): void {
  const unseen = changed_tools.filter(
    ({ name, after }) => after.input_schema === null && accepted.has(name) && !seen.has(name),
  );
  if (unseen.length === 0) return;
  const errors = unseen.map(({ name }) => ({
    path: `/digests/${pointerToken(name)}`,
    message: `is required, because the tool is too large to show in changed_tools: read it with GET /v1/mcp-servers/${id}/changed-tools/${encodeURIComponent(name)} and send its digest`,
  }));
  throw new ServiceError('validation_error', `${errors[0]!.path} ${errors[0]!.message}.`, { errors });
}
