import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Db, Tx } from '../db/db.js';
import type { ChangedTool, McpServerRow, McpTool, ShownTool } from '../db/entities/mcp-servers.js';
import { jsonHash } from '../platform/json-hash.js';
import { readTools } from './find-servers.js';
import { loadToolset, storeToolset } from './toolsets.js';

/** Limit for the schemas in the list of changed tools; beyond it a tool has `input_schema: null`. */
const MAX_SHOWN_SCHEMA_BYTES = 64 * 1024;

type PinColumns = Pick<McpServerRow, 'accepted_hash' | 'changed_tools'>;

/** Updates the pins of a server for a new tool list. The first list of a pinned server is accepted as it is. */
export async function pinColumns(
  tx: Tx,
  { id, pin_tools, accepted_hash }: Pick<McpServerRow, 'id' | 'pin_tools' | 'accepted_hash'>,
  tools: McpTool[],
): Promise<PinColumns> {
  if (!pin_tools) return { accepted_hash: null, changed_tools: [] };
  if (accepted_hash === null) return { accepted_hash: await storeToolset(tx, id, tools), changed_tools: [] };
  return { accepted_hash, changed_tools: await compareTools(await loadToolset(tx, id, accepted_hash), tools) };
}

export async function acceptedColumns(
  tx: Tx,
  { id, accepted_hash }: Pick<McpServerRow, 'id' | 'accepted_hash'>,
  tools: McpTool[],
  names: ReadonlySet<string>,
): Promise<PinColumns> {
  const before = accepted_hash === null ? [] : await loadToolset(tx, id, accepted_hash);
  const beforeByName = new Map(before.map((tool) => [tool.name, tool]));
  const accepted = tools.flatMap((tool) => (names.has(tool.name) ? tool : (beforeByName.get(tool.name) ?? [])));
  return { accepted_hash: await storeToolset(tx, id, accepted), changed_tools: await compareTools(accepted, tools) };
}

async function compareTools(accepted: readonly McpTool[], tools: readonly McpTool[]): Promise<ChangedTool[]> {
  const shown = { bytes: 0 };
  const acceptedByName = new Map(accepted.map((tool) => [tool.name, tool]));
  const changed: ChangedTool[] = [];
  for await (const after of inPieces(tools)) {
    const before = acceptedByName.get(after.name) ?? null;
    if (before !== null && isDeepStrictEqual(whole(before), whole(after))) continue;
    changed.push({
      name: after.name,
      digest: digestOf(after),
      before: before === null ? null : show(before, shown),
      after: show(after, shown),
    });
  }
  return changed;
}

/** Comparing and digesting a tool takes up to 0.2 ms. */
const TOOLS_AT_ONCE = 50;

/** The tools one by one. Other work runs in between. */
export async function* inPieces(tools: readonly McpTool[]): AsyncGenerator<McpTool> {
  for (const [at, tool] of tools.entries()) {
    if (at % TOOLS_AT_ONCE === 0) await setImmediate();
    yield tool;
  }
}

/** A changed tool with its whole schemas; null if the tool has not changed. */
export async function wholeChangedTool(db: Db, server: McpServerRow, name: string): Promise<ChangedTool | null> {
  if (server.accepted_hash === null || !server.changed_tools.some((tool) => tool.name === name)) return null;
  const accepted = await loadToolset(db, server.id, server.accepted_hash);
  const named = (tool: McpTool): boolean => tool.name === name;
  const before = accepted.find(named) ?? null;
  const after = (await readTools(db, server.id)).find(named);
  if (after === undefined || (before !== null && isDeepStrictEqual(whole(before), whole(after)))) return null;
  return { name, digest: digestOf(after), before: before && whole(before), after: whole(after) };
}

/** The digest of what a person accepts: it stays the same when a server lists the same tool in another order of keys. */
export function digestOf(tool: McpTool): string {
  return jsonHash({ name: tool.name, ...whole(tool) }).toString('hex');
}

function whole({ description, input_schema, annotations }: McpTool): ShownTool {
  return { description, input_schema, ...(annotations && { annotations }) };
}

function show(tool: McpTool, shown: { bytes: number }): ShownTool {
  const bytes = Buffer.byteLength(JSON.stringify(tool.input_schema));
  if (shown.bytes + bytes > MAX_SHOWN_SCHEMA_BYTES) return { ...whole(tool), input_schema: null };
  shown.bytes += bytes;
  return whole(tool);
}
