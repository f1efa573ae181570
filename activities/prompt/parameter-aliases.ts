import { decodeToken } from '../../src/mcp/json-pointer.js';
import { mapSubschemas } from '../../src/mcp/subschemas.js';
import { isJsonObject, type JsonObject } from '../../src/platform/json-object.js';
import { createAliases } from '../../src/models/aliases.js';

/** The parameter names that the Messages API accepts. */
const PARAMETER_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

interface ParameterAliases {
  /** The schema with an alias for each name that the API refuses, with the name as its title. */
  schema: JsonObject;
  /** The input of a call with the names of the tool. */
  toTool: (input: JsonObject) => JsonObject;
}

/** Schemas are the same objects in every request of a process. */
const known = new WeakMap<JsonObject, ParameterAliases>();

/** Gives aliases to the parameters of a tool, also those of nested objects, if the API refuses their names. */
export function parameterAliases(schema: JsonObject): ParameterAliases {
  const aliases = known.get(schema) ?? createParameterAliases(schema);
  known.set(schema, aliases);
  return aliases;
}

function createParameterAliases(schema: JsonObject): ParameterAliases {
  const names = new Set<string>();
  addNames(schema, names);
  if ([...names].every((name) => PARAMETER_NAME.test(name))) return { schema, toTool: (input) => input };
  const { toModel, toFull } = createAliases([...names], PARAMETER_NAME);
  return {
    schema: withAliases(schema, toModel) as JsonObject,
    toTool: (input) => renameKeys(input, (alias) => toFull(alias) ?? alias) as JsonObject,
  };
}

function addNames(schema: unknown, names: Set<string>): void {
  if (!isJsonObject(schema)) return;
  if (isJsonObject(schema.properties)) for (const name of Object.keys(schema.properties)) names.add(name);
  mapSubschemas(schema, (subschema) => addNames(subschema, names));
}

function withAliases(schema: unknown, toAlias: (name: string) => string): unknown {
  if (!isJsonObject(schema)) return schema;
  const copy = mapSubschemas(schema, (subschema) => withAliases(subschema, toAlias));
  if (isJsonObject(copy.properties)) copy.properties = withTitles(copy.properties, toAlias);
  if (Array.isArray(copy.required)) copy.required = copy.required.map((name) => toAlias(name as string));
  for (const keyword of ['dependentRequired', 'dependentSchemas']) {
    if (isJsonObject(copy[keyword])) copy[keyword] = renameTop(copy[keyword], toAlias);
  }
  if (isJsonObject(copy.dependentRequired)) {
    const renamed = Object.entries(copy.dependentRequired).map(([name, others]) => [
      name,
      (others as string[]).map(toAlias),
    ]);
    copy.dependentRequired = Object.fromEntries(renamed);
  }
  if (typeof copy.$ref === 'string') copy.$ref = withAliasesInRef(copy.$ref, toAlias);
  return copy;
}

function withTitles(properties: JsonObject, toAlias: (name: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const alias = toAlias(name);
      return [alias, alias === name || !isJsonObject(property) ? property : { title: name, ...property }];
    }),
  );
}

/** In a JSON Pointer, a parameter follows `properties`. */
function withAliasesInRef(ref: string, toAlias: (name: string) => string): string {
  const tokens = ref.split('/');
  return tokens
    .map((token, at) => {
      if (tokens[at - 1] !== 'properties') return token;
      const name = decodeToken(token);
      const alias = toAlias(name);
      return alias === name ? token : alias;
    })
    .join('/');
}

function renameTop(value: JsonObject, rename: (key: string) => string): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [rename(key), item]));
}

function renameKeys(value: unknown, rename: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renameKeys(item, rename));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [rename(key), renameKeys(item, rename)]));
}
