import { idPattern, type IdKind } from './ids.js';

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' } as const;
/** Any JSON object. Without `additionalProperties` the client's type would be an object without fields. */
export const anyObject = { type: 'object', additionalProperties: true } as const;
export const count = { type: 'integer', format: 'int64', minimum: 0 } as const;
export const timestamp = { type: 'string', format: 'date-time' } as const;
export const timestampOrNull = { type: ['string', 'null'], format: 'date-time' } as const;

/** An id in a response. Request bodies take any text: an id of a wrong form is not found. */
export function idField(kind: IdKind, description: string) {
  return { type: 'string', pattern: idPattern(kind), description } as const;
}

export function idOrNull(kind: IdKind, description: string) {
  return { type: ['string', 'null'], pattern: idPattern(kind), description } as const;
}
