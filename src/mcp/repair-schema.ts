import { isJsonObject, type JsonObject } from '../platform/json-object.js';
import { mapSubschemas, SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS } from './subschemas.js';

/** Names of types that servers use beside those of JSON Schema. Null: any type. */
const TYPES = new Map<string, string | null>([
  ...['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'].map((name) => [name, name] as const),
  ...['str', 'text', 'date', 'datetime', 'uuid', 'file', 'enum'].map((name) => [name, 'string'] as const),
  ...['int', 'int32', 'int64', 'long'].map((name) => [name, 'integer'] as const),
  ...['float', 'double', 'decimal'].map((name) => [name, 'number'] as const),
  ...['bool'].map((name) => [name, 'boolean'] as const),
  ...['list', 'tuple'].map((name) => [name, 'array'] as const),
  ...['dict', 'map', 'json'].map((name) => [name, 'object'] as const),
  ...['none'].map((name) => [name, 'null'] as const),
  ['any', null],
]);
/** What not every model's API can read in a regular expression: Unicode properties, code points, named groups. */
const UNPORTABLE = /\\[pP]\{|\\u\{|\(\?<[A-Za-z_$]|\[\^?\]/;

/** Returns the value that a keyword may have instead of `value`; undefined: the keyword is removed. */
type Repair = (value: unknown) => unknown;

const text: Repair = (value) => (typeof value === 'string' && value.trim() !== '' ? value : undefined);
const number: Repair = (value) => {
  const parsed = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return Number.isFinite(parsed) ? parsed : undefined;
};
const count: Repair = (value) => {
  const parsed = number(value);
  return Number.isInteger(parsed) && (parsed as number) >= 0 ? parsed : undefined;
};
const boolean: Repair = (value) => {
  if (value === 'true' || value === 'false') return value === 'true';
  return typeof value === 'boolean' ? value : undefined;
};
const list: Repair = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined);
const names: Repair = (value) =>
  Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === 'string'))] : undefined;
const schema: Repair = (value) => (isSchemaLike(value) ? value : undefined);
const schemas: Repair = (value) => list(Array.isArray(value) ? value.filter(isSchemaLike) : value);
const map: Repair = (value) => (isJsonObject(value) ? value : undefined);
const ofNames: Repair = (value) =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, others]) => [name, names(others) ?? []]))
    : undefined;

const REPAIRS = new Map<string, Repair>([
  ...SCHEMA_KEYWORDS.map((keyword) => [keyword, schema] as const),
  ...SCHEMA_MAP_KEYWORDS.map((keyword) => [keyword, map] as const),
  ...SCHEMA_LIST_KEYWORDS.map((keyword) => [keyword, schemas] as const),
  ...['title', 'description', '$comment', '$schema', 'format', 'contentEncoding', 'contentMediaType'].map(
    (keyword) => [keyword, text] as const,
  ),
  ...['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'].map((keyword) => [keyword, number] as const),
  ...['maxLength', 'minLength', 'maxItems', 'minItems', 'maxContains', 'minContains'].map(
    (keyword) => [keyword, count] as const,
  ),
  ...['maxProperties', 'minProperties'].map((keyword) => [keyword, count] as const),
  ...['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'].map((keyword) => [keyword, boolean] as const),
  ['multipleOf', (value) => (Number(number(value)) > 0 ? number(value) : undefined)],
  ['enum', list],
  ['examples', list],
  ['required', names],
  ['dependentRequired', ofNames],
  ['type', typeOf],
  ['pattern', (value) => (isPortablePattern(value) ? value : undefined)],
  ['$ref', (value) => (typeof value === 'string' && value.startsWith('#') ? value : undefined)],
]);
/** They name places for references from outside. */
const REMOVED = [
  '$id',
  'id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  '$vocabulary',
];

/**
 * Repairs a schema of limited depth keyword by keyword: what JSON Schema 2020-12 does not allow is converted where an older
 * draft or OpenAPI gives it a meaning, and removed otherwise. Everything else stays, such as type and description.
 */
export function repairSchema(broken: unknown): JsonObject | boolean {
  if (typeof broken === 'boolean') return broken;
  if (typeof broken === 'string') return TYPES.has(broken) ? repairSchema({ type: broken }) : { description: broken };
  if (!isJsonObject(broken)) return {};
  const repaired = convertDrafts(broken);
  for (const keyword of REMOVED) if (typeof repaired[keyword] !== 'object') delete repaired[keyword];
  for (const keyword of Object.keys(repaired)) {
    const value = REPAIRS.get(keyword)?.(repaired[keyword]);
    if (value !== undefined) repaired[keyword] = value;
    else if (REPAIRS.has(keyword)) delete repaired[keyword];
  }
  return mapSubschemas(repaired, repairSchema);
}

/** Keywords of older drafts and of OpenAPI in the form of 2020-12. */
function convertDrafts(old: JsonObject): JsonObject {
  const schema = { ...old };
  if (Array.isArray(schema.items)) {
    schema.prefixItems ??= schema.items;
    schema.items = schema.additionalItems;
    delete schema.additionalItems;
  }
  for (const [exclusive, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (schema[exclusive] !== true) continue;
    schema[exclusive] = schema[limit];
    delete schema[limit];
  }
  if (typeof schema.nullable === 'boolean') {
    if (schema.nullable && schema.type !== undefined) schema.type = [schema.type, 'null'].flat();
    delete schema.nullable;
  }
  if (isJsonObject(schema.properties)) {
    const marked = Object.entries(schema.properties).filter(([, one]) => isJsonObject(one) && one.required === true);
    if (marked.length > 0) {
      schema.required = [
        ...(Array.isArray(schema.required) ? (schema.required as unknown[]) : []),
        ...marked.map(([name]) => name),
      ];
    }
  }
  return withoutPatternProperties(schema);
}

/** The API of at least one provider refuses `patternProperties`. A single pattern describes all other properties. */
function withoutPatternProperties(schema: JsonObject): JsonObject {
  const { patternProperties, ...rest } = schema;
  if (!isJsonObject(patternProperties)) return schema;
  const [only, ...more] = Object.values(patternProperties);
  if (rest.additionalProperties !== undefined && rest.additionalProperties !== false) return rest;
  return { ...rest, additionalProperties: more.length === 0 ? (only ?? true) : true };
}

function typeOf(value: unknown): unknown {
  const types = [value].flat().map((name) => (typeof name === 'string' ? TYPES.get(name.toLowerCase()) : undefined));
  if (types.includes(null)) return undefined;
  const known = [...new Set(types.filter((name) => name !== undefined))];
  return known.length > 1 ? known : known[0];
}

function isPortablePattern(value: unknown): boolean {
  if (typeof value !== 'string' || UNPORTABLE.test(value)) return false;
  try {
    new RegExp(value);
    return true;
  } catch {
    return false;
  }
}

function isSchemaLike(value: unknown): boolean {
  return typeof value === 'boolean' || isJsonObject(value) || typeof value === 'string';
}
