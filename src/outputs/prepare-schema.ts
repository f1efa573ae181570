import { isJsonObject, type JsonObject } from '../platform/json-object.js';

/** The drafts of JSON Schema that an `output_schema` may use, as its validator names them. */
export type Draft = '2020-12' | '7';

const DRAFTS: readonly (readonly [RegExp, Draft])[] = [
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, '2020-12'],
  [/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/, '7'],
];

/** The draft that `$schema` names, 2020-12 without one; null for another. */
export function draftOf({ $schema }: JsonObject): Draft | null {
  if ($schema === undefined) return '2020-12';
  if (typeof $schema !== 'string') return null;
  return DRAFTS.find(([uri]) => uri.test($schema))?.[1] ?? null;
}

/** Keywords that the validator knows and the draft does not. `format` is an annotation (docs/decisions.md "Output schema"). */
const UNKNOWN: Record<Draft, ReadonlySet<string>> = {
  '2020-12': new Set(['format', 'id', 'additionalItems', '$recursiveRef', '$recursiveAnchor']),
  '7': new Set([
    ...['format', 'id', '$recursiveRef', '$recursiveAnchor', '$anchor', '$dynamicRef', '$dynamicAnchor'],
    ...['prefixItems', 'dependentRequired', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties'],
    ...['minContains', 'maxContains'],
  ]),
};
/** Keywords whose value is data, or names. */
const NO_SCHEMAS = new Set(['const', 'enum', 'default', 'examples', 'required', 'type', 'dependentRequired']);
/** Keywords whose value has schemas by names. */
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions']);

/**
 * A copy of a valid schema in which the validator finds the draft's keywords only. Within one schema a `$dynamicRef` leads
 * where a `$ref` leads, and the validator knows only that.
 * @throws SyntaxError for a `pattern` that is no regular expression
 */
export function prepareSchema(schema: unknown, draft: Draft): unknown {
  if (Array.isArray(schema)) return schema.map((item) => prepareSchema(item, draft));
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).filter(([keyword]) => !UNKNOWN[draft].has(keyword));
  const copy: JsonObject = Object.fromEntries(
    entries.map(([keyword, value]) => {
      if (keyword === 'pattern') new RegExp(value as string, 'u');
      if (NO_SCHEMAS.has(keyword)) return [keyword, value];
      if (keyword === 'patternProperties') for (const name of Object.keys(value as object)) new RegExp(name, 'u');
      if (MAPS.has(keyword) && isJsonObject(value)) return [keyword, preparedMap(value, draft)];
      return [keyword, prepareSchema(value, draft)];
    }),
  );
  return draft === '7' ? copy : withStaticRefs(copy);
}

function preparedMap(schemas: JsonObject, draft: Draft): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, prepareSchema(schema, draft)]));
}

function withStaticRefs({ $dynamicRef, $dynamicAnchor, ...schema }: JsonObject): JsonObject {
  if ($dynamicAnchor !== undefined) schema.$anchor ??= $dynamicAnchor;
  if ($dynamicRef === undefined) return schema;
  if (schema.$ref === undefined) return { ...schema, $ref: $dynamicRef };
  return { ...schema, allOf: [...((schema.allOf as unknown[] | undefined) ?? []), { $ref: $dynamicRef }] };
}
