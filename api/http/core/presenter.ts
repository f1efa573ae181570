import { objectSchema } from '../../../src/platform/object-schema.js';
import type { JsonSchema } from './operation.js';

interface Presented<Field extends string> {
  schema: JsonSchema;
  /** The response: exactly the fields of the schema, in its order. Other columns of the row stay here. */
  present: (row: Record<Field, unknown>) => Record<string, unknown>;
}

/** Defines a resource as clients see it. All of its fields are always present. */
export function presented<Fields extends Record<string, object>>(
  id: string,
  description: string,
  fields: Fields,
  example: Record<keyof Fields & string, unknown>,
): Presented<keyof Fields & string> {
  const names = Object.keys(fields) as (keyof Fields & string)[];
  return {
    schema: { $id: id, description, ...objectSchema(fields), examples: [example] },
    present: (row) => Object.fromEntries(names.map((name) => [name, row[name]])),
  };
}
