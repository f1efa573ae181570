import type { Ajv, AnySchemaObject, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';

/**
 * Returns a function that compiles a schema at its first use, and remembers it. Only for schemas that are constants of a module: an
 * instance of Ajv keeps each schema that it has compiled, so a new object for each call would never be freed.
 */
export function compileOnce<Schema extends object>(
  ajv: Ajv | Ajv2020,
  prepare: (schema: Schema) => AnySchemaObject = (schema) => schema,
): (schema: Schema) => ValidateFunction {
  const known = new WeakMap<Schema, ValidateFunction>();
  return (schema) => {
    let validate = known.get(schema);
    if (validate === undefined) known.set(schema, (validate = ajv.compile(prepare(schema))));
    return validate;
  };
}
