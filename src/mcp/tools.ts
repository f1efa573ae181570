import { setImmediate } from 'node:timers/promises';
import type { McpTool } from '../db/entities/mcp-servers.js';
import { codePointLength, isStorableText, Redactor, storableText } from '../platform/text.js';
import { sanitizeInputSchema } from './input-schema.js';

/** spec.md "Limits": MCP tools kept. */
export const MAX_TOOLS = 256;
const MAX_NAME_LENGTH = 128;
const MAX_DESCRIPTION_LENGTH = 500;
/** Of the schemas of one server together, as the server sends them. Beyond it a tool takes any object. */
const MAX_SCHEMA_BYTES = 512 * 1024;

/** Turns text of a server into what may be kept: storable, and without the credential that a server may echo. */
export type Clean = (text: string) => string;

/** Cleans text of a server that was sent these secrets. */
export function cleanerFor(secrets: readonly string[]): Clean {
  const redactor = new Redactor(secrets);
  return (text) => redactor.redact(storableText(text));
}

/**
 * The tools of a complete `tools/list` as they are kept (spec.md "MCP server": tools): names over the limit dropped, 256
 * kept in the server's order, descriptions cut. Names that cannot be stored or that contain the credential are dropped;
 * of two tools with one name the first counts. The schemas share a budget in bytes, which also bounds the time that it
 * takes to check them. The event loop gets a turn after each tool.
 */
export async function keepTools(listed: readonly unknown[], clean: Clean): Promise<McpTool[]> {
  const kept = new Map<string, McpTool>();
  let schemaBytes = 0;
  for (const tool of listed) {
    if (kept.size === MAX_TOOLS) break;
    const { name, description, inputSchema, annotations } = (tool ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string' || name === '' || !isStorableText(name) || clean(name) !== name) continue;
    if (codePointLength(name) > MAX_NAME_LENGTH || kept.has(name)) continue;
    await setImmediate();
    const size = Buffer.byteLength(JSON.stringify(inputSchema) ?? '');
    const fits = schemaBytes + size <= MAX_SCHEMA_BYTES;
    if (fits) schemaBytes += size;
    const { readOnlyHint, idempotentHint } = (annotations ?? {}) as Record<string, unknown>;
    kept.set(name, {
      name,
      description: cut(clean(typeof description === 'string' ? description : ''), MAX_DESCRIPTION_LENGTH),
      input_schema: cleanJson(sanitizeInputSchema(fits ? inputSchema : null), clean) as Record<string, unknown>,
      repeatable: readOnlyHint === true || idempotentHint === true,
    });
  }
  return [...kept.values()];
}

/** The first `length` code points. */
export function cut(text: string, length: number): string {
  // A server's text may have millions.
  return text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join('');
}

function cleanJson(value: unknown, clean: Clean): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [clean(key), cleanJson(item, clean)]));
}
