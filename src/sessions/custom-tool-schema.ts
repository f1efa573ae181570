import { isValidSchema } from '../mcp/input-schema.js';

type Json = unknown;

/**
 * Checks that a custom tool's `input_schema` is JSON Schema that a model's API can compile: valid by the meta-schema,
 * with regular expressions that parse, and references only to parts of itself. An untrusted schema is never compiled
 * here: 32 KiB can take seconds.
 */
export function isUsableSchema(schema: Record<string, Json>): boolean {
  if (!isValidSchema(schema)) return false;
  const open: Json[] = [schema];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const { pattern, patternProperties, $ref } = value as Record<string, Json>;
    if (typeof pattern === 'string' && !isPattern(pattern)) return false;
    if (isObject(patternProperties) && !Object.keys(patternProperties).every(isPattern)) return false;
    if (typeof $ref === 'string' && !refersTo(schema, $ref)) return false;
    open.push(...(Object.values(value) as Json[]));
  }
  return true;
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

function refersTo(root: Record<string, Json>, ref: string): boolean {
  if (ref === '#') return true;
  if (!ref.startsWith('#/')) return false;
  let place: Json = root;
  for (const token of ref.slice(2).split('/')) {
    const key = decodeToken(token);
    if (!isObject(place) && !Array.isArray(place)) return false;
    if (!Object.hasOwn(place, key)) return false;
    place = (place as Record<string, Json>)[key];
  }
  return true;
}

/** Decodes a token of a JSON Pointer in a URI fragment (RFC 6901 §6). A token with a broken escape stays as it is. */
function decodeToken(token: string): string {
  let text = token;
  try {
    text = decodeURIComponent(token);
  } catch {
    // The escape is not valid UTF-8.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
