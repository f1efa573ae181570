import { objectSchema } from '../../../src/platform/object-schema.js';
import type { JsonSchema } from './operation.js';

export const timestamp = { type: 'string', format: 'date-time' } as const;
export const timestampOrNull = { type: ['string', 'null'], format: 'date-time' } as const;

interface Presented<Field extends string> {
  schema: JsonSchema;
  /** The response: exactly the fields of the schema, in its order. Other columns of the row stay here. */
  present: (row: Record<Field, unknown>) => Record<string, unknown>;
}

/** Defines a resource as clients see it. All of its fields are always present. */
export function presented<Fields extends Record<string, object>>(
  id: string,
  fields: Fields,
  examples?: object[],
): Presented<keyof Fields & string> {
  const names = Object.keys(fields) as (keyof Fields & string)[];
  return {
    schema: { $id: id, ...objectSchema(fields), ...(examples && { examples }) },
    present: (row) => Object.fromEntries(names.map((name) => [name, row[name]])),
  };
}
