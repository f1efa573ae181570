import { setImmediate } from 'node:timers/promises';
import type { McpTool } from '../db/entities/mcp-servers.js';
import { codePointLength, isStorableText, Redactor, storableText } from '../platform/text.js';
import { sanitizeInputSchema } from './input-schema.js';

/** spec.md "Limits": stored MCP tools per server. */
const MAX_TOOLS = 256;
const MAX_NAME_LENGTH = 128;
const MAX_DESCRIPTION_LENGTH = 500;
/** Limit for all schemas of one server, in the server's own JSON. Beyond it a tool accepts any object. */
const MAX_SCHEMA_BYTES = 512 * 1024;

/** Makes a server's text storable and removes a credential that the server may echo. */
export type Clean = (text: string) => string;

/** Returns a function that cleans the text of a server that received these secrets. */
export function cleanerFor(secrets: readonly string[]): Clean {
  const redactor = new Redactor(secrets);
  return (text) => redactor.redact(storableText(text));
}

/**
 * Converts a complete `tools/list` for storage (spec.md "MCP server": tools). It drops names that are too long, cannot
 * be stored or contain the credential, and duplicates of a name; it keeps 256 tools in the server's order and cuts
 * descriptions. The schemas share a limit in bytes, which also limits the time to check them. The event loop runs after
 * each tool.
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

/** Cuts text to `length` code points. */
export function cut(text: string, length: number): string {
  // Slice first: a server's text may have millions of characters.
  return text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join('');
}

function cleanJson(value: unknown, clean: Clean): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [clean(key), cleanJson(item, clean)]));
}
