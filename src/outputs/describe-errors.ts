import type { OutputUnit } from '@cfworker/json-schema';

/** docs/decisions.md "Output schema": errors that the model is told. */
const MAX_ERRORS = 10;
const MAX_REASON_LENGTH = 300;
const MAX_PLACE_LENGTH = 200;

/** They only say that an error below them exists. */
const WRAPPERS = new Set([
  ...['$ref', 'allOf', 'if', 'properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties'],
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'dependentSchemas'],
]);

/** The first errors of a value, each with its place, a JSON Pointer, and its reason. */
export function describeErrors(errors: readonly OutputUnit[]): string[] {
  const causes = errors.filter(({ keyword }) => !WRAPPERS.has(keyword));
  return (causes.length > 0 ? causes : errors).slice(0, MAX_ERRORS).map(({ instanceLocation, keyword, error }) => {
    const reason = keyword === 'false' ? 'is not allowed here' : error;
    return `${placeOf(instanceLocation)}: ${cut(reason, MAX_REASON_LENGTH)}`;
  });
}

function placeOf(location: string): string {
  if (location === '#') return '(the whole value)';
  return cut(decodeURIComponent(location.slice(1)), MAX_PLACE_LENGTH);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}
