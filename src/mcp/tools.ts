import { setImmediate } from 'node:timers/promises';
import type { McpTool, ToolHints } from '../db/entities/mcp-servers.js';
import { asJsonObject, type JsonObject } from '../platform/json-object.js';
import { MIB } from '../platform/units.js';
import { isDeeperThan } from '../platform/depth.js';
import { codePointLength, DECEPTIVE, isStorableText, withoutControls } from '../platform/text.js';
import { cleanJson, type Cleaner } from './cleaner.js';
import type { McpConnection } from './client.js';
import { taskSupportOf } from './tasks.js';
import { MAX_SCHEMA_DEPTH, sanitizeInputSchema } from './input-schema.js';
import { type OnLarge, listLimits } from './transport/answer-body.js';
import { McpProtocolError } from './transport/errors.js';

const MAX_PAGES = 200;
const MAX_LISTED = 20_000;

/** Tools stored for one server (docs/limits.md). */
export const MAX_TOOLS = 2000;
const MAX_NAME_LENGTH = 128;
const MAX_DESCRIPTION_LENGTH = 500;
const MAX_TITLE_LENGTH = 200;
/** The rest of a longer title is not read. */
const MAX_TITLE_READ = 8 * 1024;
/** Checking a name takes a few microseconds. */
const NAMES_AT_ONCE = 500;
/** Limit for all schemas of one server, in the server's own JSON. Beyond it a tool accepts any object. */
const MAX_SCHEMA_BYTES = 2 * MIB;

/** Lists the tools of all pages, unchecked; empty for a server without the tools capability. */
export async function listTools(connection: McpConnection, signal: AbortSignal, onLarge?: OnLarge): Promise<unknown[]> {
  if (connection.capabilities?.tools === undefined) return [];
  const tools: unknown[] = [];
  const seen = new Set<string>();
  const limits = listLimits();
  for (let cursor: string | undefined; ;) {
    const params = cursor === undefined ? {} : { cursor };
    const page = await connection.request('tools/list', params, signal, { limits, onLarge });
    // An empty list of Go is null.
    const listed = page.tools === null ? [] : page.tools;
    if (!Array.isArray(listed)) throw new McpProtocolError('tools/list did not answer with a list of tools');
    for (const tool of listed as unknown[]) tools.push(tool);
    if (typeof page.nextCursor !== 'string' || page.nextCursor === '') return tools;
    cursor = page.nextCursor;
    if (seen.has(cursor) || seen.size === MAX_PAGES || tools.length > MAX_LISTED) {
      throw new McpProtocolError('tools/list has no end');
    }
    seen.add(cursor);
  }
}

/** The tools of a server as they are stored. */
export interface KeptTools {
  tools: McpTool[];
  /** Tools that the server lists beside them. */
  leftOut: number;
}

/**
 * Converts a complete `tools/list` for storage (docs/limits.md). It drops names that are too long, cannot
 * be stored, contain the credential or characters that deceive a reader, and duplicates of a name; it keeps 2,000 tools in the server's order,
 * those of `allowed` in any case, and cuts descriptions. The schemas share a limit in bytes, which also limits the time to check them. The
 * event loop runs after each tool.
 */
export async function keepTools(
  listed: readonly unknown[],
  cleaner: Cleaner,
  allowed: readonly string[] | null,
): Promise<KeptTools> {
  const tools: McpTool[] = [];
  const isAllowed = new Set(allowed);
  const seen = new Set<unknown>();
  const usable: ListedTool[] = [];
  for (const [at, tool] of listed.entries()) {
    const { name } = asJsonObject(tool);
    if (!seen.has(name) && typeof name === 'string' && isUsableName(name) && cleaner.clean(name) === name)
      usable.push(tool as ListedTool);
    seen.add(name);
    if (at % NAMES_AT_ONCE === 0) await setImmediate();
  }
  let others = MAX_TOOLS - usable.filter(({ name }) => isAllowed.has(name)).length;
  let schemaBytes = 0;
  for (const { name, title, description, inputSchema, annotations, execution } of usable) {
    if (!isAllowed.has(name) && (others -= 1) < 0) continue;
    await setImmediate();
    const size = bytesOfSchema(inputSchema);
    const fits = schemaBytes + size <= MAX_SCHEMA_BYTES;
    if (fits) schemaBytes += size;
    tools.push({
      name,
      description: cleaner.cleanStart(
        firstText(description, title, asJsonObject(annotations).title),
        MAX_DESCRIPTION_LENGTH,
      ),
      input_schema: cleanJson(sanitizeInputSchema(fits ? inputSchema : null), cleaner) as Record<string, unknown>,
      ...titleOf(firstText(title, asJsonObject(annotations).title), cleaner),
      ...annotationsOf(annotations),
      ...hintsOf(annotations),
      ...taskSupport(execution),
    });
  }
  return { tools, leftOut: seen.size - tools.length };
}

type ListedTool = JsonObject & { name: string };

/** The first text that says something; empty without one. */
function firstText(...texts: unknown[]): string {
  return texts.find((text): text is string => typeof text === 'string' && text.trim() !== '') ?? '';
}

function annotationsOf(annotations: unknown): Pick<McpTool, 'annotations'> {
  const { readOnlyHint, idempotentHint } = asJsonObject(annotations);
  if (readOnlyHint !== true && idempotentHint !== true) return {};
  return {
    annotations: { ...(readOnlyHint === true && { readOnlyHint }), ...(idempotentHint === true && { idempotentHint }) },
  };
}

/** Cleaned before it is cut: what is taken out of a title must not reveal a secret that stood in two parts. */
function titleOf(title: string, cleaner: Cleaner): Pick<McpTool, 'title'> {
  const shown = withoutControls(title.slice(0, MAX_TITLE_READ)).trim();
  return shown === '' ? {} : { title: cleaner.cleanStart(shown, MAX_TITLE_LENGTH) };
}

/** What the annotations that count do not say already. */
function hintsOf(annotations: unknown): Pick<McpTool, 'hints'> {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = asJsonObject(annotations);
  const hints: ToolHints = {
    ...(readOnlyHint === false && { read_only: false }),
    ...(typeof destructiveHint === 'boolean' && { destructive: destructiveHint }),
    ...(idempotentHint === false && { idempotent: false }),
    ...(typeof openWorldHint === 'boolean' && { open_world: openWorldHint }),
  };
  return Object.keys(hints).length === 0 ? {} : { hints };
}

function taskSupport(execution: unknown): Pick<McpTool, 'task_support'> {
  const support = taskSupportOf(execution);
  return support === undefined ? {} : { task_support: support };
}

function isUsableName(name: string): boolean {
  if (name === '' || name.length > 2 * MAX_NAME_LENGTH || codePointLength(name) > MAX_NAME_LENGTH) return false;
  return isStorableText(name) && !DECEPTIVE.test(name);
}

/** Bytes of a schema as JSON; too many for one that no code could walk. */
function bytesOfSchema(schema: unknown): number {
  return isDeeperThan(MAX_SCHEMA_DEPTH, schema) ? Infinity : Buffer.byteLength(JSON.stringify(schema) ?? '');
}
