import { Ajv2020 } from 'ajv/dist/2020.js';
import { isDeeperThan } from '../platform/depth.js';
import { asJsonObject, isJsonObject, type JsonObject } from '../platform/json-object.js';
import { refersTo } from './json-pointer.js';
import { repairSchema } from './repair-schema.js';
import { mapSubschemas } from './subschemas.js';
import { hasMoreValuesThan } from '../platform/value-count.js';

const MAX_SCHEMA_CHARACTERS = 64 * 1024;
/** Limit of docs/decisions.md "Limits of work". Checking a schema takes up to 10 µs for each of its values. */
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
 * combinators at the top. One schema that the API refuses would fail every model call of the turn, so wrong keywords are
 * repaired one by one. Parameters whose names the API refuses get aliases in requests.
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
export function toObjectSchema(original: JsonObject): JsonObject {
  const schema = asJsonObject(repairSchema(original));
  const merged: Merged = { properties: new Map(), required: new Set(), branches: MAX_BRANCHES };
  merge(schema, true, schema, merged, 0);
  if (merged.branches < 0) return { type: 'object' };
  const required = [...merged.required].filter((name) => merged.properties.has(name as string));
  const rest = { ...schema };
  for (const dropped of ['$schema', '$id', '$ref', 'required', ...COMBINATORS]) delete rest[dropped];
  const object = {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(merged.properties),
    ...(required.length > 0 && { required }),
  };
  return withoutDanglingRefs(object, object) as JsonObject;
}

function withoutDanglingRefs(schema: unknown, root: JsonObject): unknown {
  if (!isJsonObject(schema)) return schema;
  const copy = mapSubschemas(schema, (subschema) => withoutDanglingRefs(subschema, root));
  if (typeof copy.$ref === 'string' && !refersTo(root, copy.$ref)) delete copy.$ref;
  return copy;
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
