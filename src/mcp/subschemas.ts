import { isJsonObject, type JsonObject } from '../platform/json-object.js';

/** Keywords of JSON Schema 2020-12 whose value is a schema, a map of schemas, or a list of schemas. */
export const SCHEMA_KEYWORDS = [
  ...['items', 'contains', 'additionalProperties', 'propertyNames', 'unevaluatedItems', 'unevaluatedProperties'],
  ...['not', 'if', 'then', 'else', 'contentSchema'],
] as const;
export const SCHEMA_MAP_KEYWORDS = [
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
] as const;
export const SCHEMA_LIST_KEYWORDS = ['prefixItems', 'allOf', 'anyOf', 'oneOf'] as const;

/** A copy of a valid schema whose direct subschemas are replaced. */
export function mapSubschemas(schema: JsonObject, map: (subschema: unknown) => unknown): JsonObject {
  const copy = { ...schema };
  for (const keyword of SCHEMA_KEYWORDS) {
    if (copy[keyword] !== undefined) copy[keyword] = map(copy[keyword]);
  }
  for (const keyword of SCHEMA_MAP_KEYWORDS) {
    const subschemas = copy[keyword];
    if (isJsonObject(subschemas)) {
      copy[keyword] = Object.fromEntries(Object.entries(subschemas).map(([name, one]) => [name, map(one)]));
    }
  }
  for (const keyword of SCHEMA_LIST_KEYWORDS) {
    const subschemas = copy[keyword];
    if (Array.isArray(subschemas)) copy[keyword] = subschemas.map(map);
  }
  return copy;
}
