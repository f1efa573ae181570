import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from 'typeorm';
import type { ChangedTool, McpServerRow, McpTool, ShownTool } from '../db/entities/mcp-servers.js';
import { loadToolset, storeToolset } from './toolsets.js';

/** Limit for the schemas in the list of changed tools; beyond it a tool has `input_schema: null`. */
const MAX_SHOWN_SCHEMA_BYTES = 64 * 1024;

type PinColumns = Pick<McpServerRow, 'accepted_hash' | 'changed_tools'>;

/** Updates the pins of a server for a new tool list. The first list of a pinned server is accepted as it is. */
export async function pinColumns(
  tx: EntityManager,
  { id, pin_tools, accepted_hash }: Pick<McpServerRow, 'id' | 'pin_tools' | 'accepted_hash'>,
  tools: McpTool[],
): Promise<PinColumns> {
  if (!pin_tools) return { accepted_hash: null, changed_tools: [] };
  if (accepted_hash === null) return { accepted_hash: await storeToolset(tx, id, tools), changed_tools: [] };
  return { accepted_hash, changed_tools: compareTools(await loadToolset(tx, id, accepted_hash), tools) };
}

/** Accepts the current versions of the named tools. */
export async function acceptedColumns(
  tx: EntityManager,
  { id, accepted_hash }: Pick<McpServerRow, 'id' | 'accepted_hash'>,
  tools: McpTool[],
  names: ReadonlySet<string>,
): Promise<PinColumns> {
  const before = accepted_hash === null ? [] : await loadToolset(tx, id, accepted_hash);
  const accepted = tools.flatMap((tool) =>
    names.has(tool.name) ? [tool] : before.filter(({ name }) => name === tool.name),
  );
  return { accepted_hash: await storeToolset(tx, id, accepted), changed_tools: compareTools(accepted, tools) };
}

/** The tools that are new, or differ from the accepted version in description or schema. */
function compareTools(accepted: readonly McpTool[], tools: readonly McpTool[]): ChangedTool[] {
  const acceptedByName = new Map(accepted.map((tool) => [tool.name, tool]));
  const shown = { bytes: 0 };
  return tools.flatMap((tool) => {
    const before = acceptedByName.get(tool.name);
    if (before !== undefined && isSame(before, tool)) return [];
    return [{ name: tool.name, before: before === undefined ? null : show(before, shown), after: show(tool, shown) }];
  });
}

function isSame(one: McpTool, other: McpTool): boolean {
  return one.description === other.description && isDeepStrictEqual(one.input_schema, other.input_schema);
}

function show({ description, input_schema }: McpTool, shown: { bytes: number }): ShownTool {
  const bytes = Buffer.byteLength(JSON.stringify(input_schema));
  if (shown.bytes + bytes > MAX_SHOWN_SCHEMA_BYTES) return { description, input_schema: null };
  shown.bytes += bytes;
  return { description, input_schema };
}
