import { isValidSchema } from '../mcp/input-schema.js';
import { refersTo } from '../mcp/json-pointer.js';

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

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
