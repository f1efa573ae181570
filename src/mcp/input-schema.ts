import { Ajv2020 } from 'ajv/dist/2020.js';
import { isDeeperThan } from '../platform/depth.js';
import { asJsonObject, isJsonObject, type JsonObject } from '../platform/json-object.js';
import { hasMoreValuesThan } from '../platform/value-count.js';

/** The parameter names that the Messages API accepts. */
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_SCHEMA_CHARACTERS = 64 * 1024;
/** Limit of docs/contract.md §14. Checking a schema takes up to 10 µs for each of its values. */
export const MAX_SCHEMA_VALUES = 4_000;
/** Deep enough for any form. Code after this check may recurse into the schema. */
export const MAX_SCHEMA_DEPTH = 100;
/** Limit of combinators and references merged at the top: branches that refer to themselves multiply. */
const MAX_BRANCHES = 64;
/** How deep branches of branches are merged. */
const MAX_BRANCH_DEPTH = 4;
const COMBINATORS = ['allOf', 'anyOf', 'oneOf'] as const;

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/**
 * Converts a tool's input schema to the form that the Messages API accepts: an object, valid JSON Schema 2020-12, no
 * combinators at the top, valid parameter names. One schema that the API refuses would fail every model call of the
 * turn, so parts that cannot be converted become `{}` or any object.
 */
export function sanitizeInputSchema(schema: unknown): JsonObject {
  if (!isJsonObject(schema) || !isBounded(schema)) return { type: 'object' };
  const object = toObjectSchema(schema);
  if (isValidSchema(object)) return object;
  const properties = Object.entries(asJsonObject(object.properties));
  object.properties = Object.fromEntries(properties.map(([name, one]) => [name, isValidSchema(one) ? one : {}]));
  return isValidSchema(object) ? object : { type: 'object' };
}

/** The same for a schema of limited size that is valid. Its parts are valid, so the result is not checked again. */
export function toObjectSchema(schema: JsonObject): JsonObject {
  const merged: Merged = { properties: new Map(), required: new Set(), branches: MAX_BRANCHES };
  merge(schema, true, schema, merged, 0);
  if (merged.branches < 0) return { type: 'object' };
  const kept = [...merged.properties].filter(([name]) => PROPERTY_NAME.test(name));
  const names = new Set(kept.map(([name]) => name));
  const required = [...merged.required].filter((name) => names.has(name as string));
  const rest = { ...schema };
  for (const dropped of ['$schema', '$id', '$ref', 'required', ...COMBINATORS]) delete rest[dropped];
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(kept),
    ...(required.length > 0 && { required }),
  };
}

interface Merged {
  properties: Map<string, unknown>;
  required: Set<unknown>;
  branches: number;
}

/** Merges local `$ref`s and combinators into the top of the schema: parameters of any branch become parameters. */
function merge(schema: JsonObject, isRequired: boolean, root: JsonObject, merged: Merged, depth: number): void {
  for (const [name, property] of Object.entries(asJsonObject(schema.properties))) {
    if (!merged.properties.has(name)) merged.properties.set(name, property);
  }
  if (isRequired) for (const name of listOf(schema.required)) merged.required.add(name);
  if (depth === MAX_BRANCH_DEPTH) return;
  for (const kind of COMBINATORS) {
    for (const branch of listOf(schema[kind])) visit(branch, isRequired && kind === 'allOf');
  }
  if (typeof schema.$ref === 'string') visit(definitionOf(schema.$ref, root), isRequired);

  function visit(branch: unknown, isBranchRequired: boolean): void {
    if (branch === null) return;
    merged.branches -= 1;
    if (merged.branches >= 0 && isJsonObject(branch)) merge(branch, isBranchRequired, root, merged, depth + 1);
  }
}

function definitionOf(ref: string, root: JsonObject): unknown {
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const definitions = place === undefined ? undefined : root[place];
  return isJsonObject(definitions) && name !== undefined && Object.hasOwn(definitions, name) ? definitions[name] : null;
}

function isBounded(schema: JsonObject): boolean {
  if (hasMoreValuesThan(MAX_SCHEMA_VALUES, schema) || isDeeperThan(MAX_SCHEMA_DEPTH, schema)) return false;
  return JSON.stringify(schema).length <= MAX_SCHEMA_CHARACTERS;
}

/** Checks only against the meta-schema: an untrusted schema is never compiled. */
export function isValidSchema(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isJsonObject(schema)) return false;
  const { $schema: _, ...dialectless } = schema;
  return ajv.validateSchema(dialectless) === true;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
