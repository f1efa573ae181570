import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from 'typeorm';
import type { ChangedTool, McpServerRow, McpTool, ShownTool } from '../db/entities/mcp-servers.js';
import type { Db } from '../db/transaction.js';
import { jsonHash } from '../platform/json-hash.js';
import { readTools } from './find-servers.js';
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

function compareTools(accepted: readonly McpTool[], tools: readonly McpTool[]): ChangedTool[] {
  const shown = { bytes: 0 };
  return changesOf(accepted, tools).map(({ before, after }) => ({
    name: after.name,
    digest: digestOf(after),
    before: before === null ? null : show(before, shown),
    after: show(after, shown),
  }));
}

/** A changed tool with its whole schemas; null if the tool has not changed. */
export async function wholeChangedTool(db: Db, server: McpServerRow, name: string): Promise<ChangedTool | null> {
  if (server.accepted_hash === null || !server.changed_tools.some((tool) => tool.name === name)) return null;
  const accepted = await loadToolset(db, server.id, server.accepted_hash);
  const [change] = changesOf(
    accepted,
    (await readTools(db, server.id)).filter((tool) => tool.name === name),
  );
  if (change === undefined) return null;
  const { before, after } = change;
  return { name, digest: digestOf(after), before: before && whole(before), after: whole(after) };
}

/** The digest of what a person accepts: it stays the same when a server lists the same tool in another order of keys. */
export function digestOf(tool: McpTool): string {
  return jsonHash({ name: tool.name, ...whole(tool) }).toString('hex');
}

interface Change {
  before: McpTool | null;
  after: McpTool;
}

function changesOf(accepted: readonly McpTool[], tools: readonly McpTool[]): Change[] {
  const acceptedByName = new Map(accepted.map((tool) => [tool.name, tool]));
  return tools.flatMap((after) => {
    const before = acceptedByName.get(after.name) ?? null;
    return before !== null && isDeepStrictEqual(whole(before), whole(after)) ? [] : [{ before, after }];
  });
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
