import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { compileOnce } from '../../../src/platform/compile-once.js';
import { pointerToken, ServiceError, validationError } from '../../../src/platform/errors.js';
import { isStorableText } from '../../../src/platform/text.js';
import { utcTimestamp } from '../../../src/platform/timestamps.js';
import type { JsonSchema } from './operation.js';

/** Lengths count code points (decisions.md "HTTP", "Characters"), as ajv does. */
const OPTIONS = {
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  strictRequired: false,
  useDefaults: true,
  discriminator: true,
  // An error shows the schema that has the variants.
  verbose: true,
} as const;
const ofBodies = new Ajv2020(OPTIONS);
/** A query has text only: `true` is a boolean there. */
const ofQueries = new Ajv2020({ ...OPTIONS, coerceTypes: true });
formats.default(ofBodies);
formats.default(ofQueries);

const MAX_LISTED = 50;
/** Names of components mean nothing here: one may stand at several places of a body. */
function withoutIds(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => key !== '$id' || typeof value !== 'string')
      .map(([key, value]) => [key, copyWithoutIds(value)]),
  );
}

function copyWithoutIds(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? value.map(copyWithoutIds) : withoutIds(value as JsonSchema);
}

/** When its first request comes: to compile the schemas of all operations takes half a second. */
const ofBody = compileOnce(ofBodies, withoutIds);
const ofQuery = compileOnce(ofQueries, withoutIds);

/** The pattern of texts that must not be blank. */
const NOT_BLANK = '\\S';

/**
 * Validates a value and returns it with defaults filled in. @throws ServiceError `validation_error` listing every error
 */
type Check = (value: unknown) => unknown;

export function bodyCheck(schema: JsonSchema): Check {
  return (body) => {
    const validate = ofBody(schema);
    if (!validate(body)) throw invalid(validate.errors!, '');
    return body;
  };
}

export function queryCheck(schema: JsonSchema): Check {
  const names = Object.keys(schema.properties as object);
  return (query) => {
    const values = query as Record<string, string>;
    for (const name of names.filter((known) => values[known] !== undefined && !isStorableText(values[known]))) {
      throw invalidPlaces([{ path: `/query/${name}`, message: 'has a NUL character or an unpaired surrogate' }]);
    }
    const validate = ofQuery(schema);
    if (!validate({ ...values })) throw invalid(validate.errors!, '/query');
    return values;
  };
}

/** A time of a query in UTC. @throws ServiceError `validation_error` if Postgres would refuse it */
export function timeOfQuery(query: Record<string, string>, name: string): string | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const time = utcTimestamp(text);
  if (time === null) throw validationError(`/query/${name}`, 'is a time that does not exist');
  return time;
}

function invalid(errors: ErrorObject[], root: string): ServiceError {
  const places = new Map<string, { path: string; message: string }>();
  for (const error of errors) {
    const { path, message } = placeOf(error);
    // Skip the errors of combining keywords: they only repeat the errors they combine.
    if (error.keyword === 'propertyNames' || error.keyword === 'if') continue;
    // The tag is missing, which is an error of its own.
    if (error.keyword === 'discriminator' && error.params.tagValue === undefined) continue;
    places.set(`${path} ${message}`, { path: root + path, message });
    if (places.size === MAX_LISTED) break;
  }
  return invalidPlaces([...places.values()]);
}

function invalidPlaces(errors: { path: string; message: string }[]): ServiceError {
  const { path, message } = errors[0]!;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see details.errors)` : '';
  return new ServiceError('validation_error', `${path === '' ? 'The body' : path} ${message}${more}.`, { errors });
}

function placeOf(error: ErrorObject): { path: string; message: string } {
  const { keyword, instancePath, propertyName, params, message } = error;
  switch (keyword) {
    case 'required':
      return { path: `${instancePath}/${pointerToken(String(params.missingProperty))}`, message: 'is required' };
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        path: `${instancePath}/${pointerToken(String(params.additionalProperty ?? params.unevaluatedProperty))}`,
        message: 'is not a field of this operation',
      };
    case 'pattern':
      if (params.pattern !== NOT_BLANK) return { path: instancePath, message: message! };
      return { path: instancePath, message: 'must not be only white space' };
    case 'enum':
      return { path: instancePath, message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` };
    case 'discriminator':
      return { path: `${instancePath}/${pointerToken(String(params.tag))}`, message: `must be ${tagsOf(error)}` };
    default:
      return propertyName === undefined
        ? { path: instancePath, message: message! }
        : { path: `${instancePath}/${pointerToken(propertyName)}`, message: `is not a valid key: it ${message}` };
  }
}

/** The values of a discriminator: `mcp_toolset or custom`. */
function tagsOf({ params, parentSchema }: ErrorObject): string {
  const variants = (parentSchema as { oneOf: { properties: Record<string, { const: string }> }[] }).oneOf;
  const tags = variants.map(({ properties }) => properties[String(params.tag)]!.const);
  return [tags.slice(0, -1).join(', '), tags.at(-1)].join(' or ');
}
