import { Ajv2020 } from 'ajv/dist/2020.js';
import { isDeeperThan } from '../platform/depth.js';

type Schema = Record<string, unknown>;

/** The parameter names that the Messages API accepts. */
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_SCHEMA_CHARACTERS = 64 * 1024;
/** Deep enough for any form. Code after this check may recurse into the schema. */
const MAX_SCHEMA_DEPTH = 100;
/** Limit of combinators and references merged at the top: branches that refer to themselves multiply. */
const MAX_BRANCHES = 64;
const COMBINATORS = ['allOf', 'anyOf', 'oneOf'] as const;

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/**
 * Converts a tool's input schema to the form that the Messages API accepts: an object, valid JSON Schema 2020-12, no
 * combinators at the top, valid parameter names. One schema that the API refuses would fail every model call of the
 * turn, so parts that cannot be converted become `{}` or any object.
 */
export function sanitizeInputSchema(schema: unknown): Schema {
  if (!isObject(schema) || !isBounded(schema)) return { type: 'object' };
  const budget = { branches: MAX_BRANCHES };
  const { properties, required, ...rest } = flatten(schema, schema, budget);
  if (budget.branches < 0) return { type: 'object' };
  for (const dropped of ['$schema', '$id', '$ref', ...COMBINATORS]) delete rest[dropped];
  const kept = isObject(properties) ? Object.entries(properties).filter(([name]) => PROPERTY_NAME.test(name)) : [];
  const names = new Set(kept.map(([name]) => name));
  const object: Schema = {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(kept.map(([name, property]) => [name, isValidSchema(property) ? property : {}])),
    ...(Array.isArray(required) && { required: [...new Set(required)].filter((name) => names.has(name as string)) }),
  };
  return isValidSchema(object) ? object : { type: 'object' };
}

/** Merges local `$ref`s and combinators into the top of the schema: parameters of any branch become parameters. */
function flatten(schema: Schema, root: Schema, budget: { branches: number }, depth = 0): Schema {
  const merged: Schema = { ...schema };
  if (depth === 4) return merged;
  const referred = typeof schema.$ref === 'string' ? definitionOf(schema.$ref, root) : null;
  const branches = COMBINATORS.flatMap((kind) =>
    list(schema[kind]).map((branch) => ({ branch, all: kind === 'allOf' })),
  );
  if (referred !== null) branches.push({ branch: referred, all: true });
  for (const { branch, all } of branches) {
    budget.branches -= 1;
    if (budget.branches < 0) break;
    if (!isObject(branch)) continue;
    const { properties, required } = flatten(branch, root, budget, depth + 1);
    merged.properties = { ...object(properties), ...object(merged.properties) };
    if (all) merged.required = [...list(merged.required), ...list(required)];
  }
  return merged;
}

function definitionOf(ref: string, root: Schema): unknown {
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const definitions = place === undefined ? undefined : root[place];
  return isObject(definitions) && name !== undefined && Object.hasOwn(definitions, name) ? definitions[name] : null;
}

function isBounded(schema: Schema): boolean {
  return !isDeeperThan(MAX_SCHEMA_DEPTH, schema) && JSON.stringify(schema).length <= MAX_SCHEMA_CHARACTERS;
}

/** Checks only against the meta-schema: an untrusted schema is never compiled. */
export function isValidSchema(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isObject(schema)) return false;
  const { $schema: _, ...dialectless } = schema;
  return ajv.validateSchema(dialectless) === true;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function object(value: unknown): Schema {
  return isObject(value) ? value : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
