/** A JSON Schema object with `required` fields first, then `optional` ones, and no additional properties. */
export function objectSchema<const Required extends object, const Optional extends object = Record<never, never>>(
  required: Required,
  optional?: Optional,
) {
  return {
    type: 'object',
    properties: { ...required, ...(optional as Optional) },
    required: Object.keys(required) as (keyof Required & string)[],
    additionalProperties: false,
  } as const;
}

/** Key of the schema that the OpenAPI document shows in place of the one that has the key. JSON and ajv do not see it. */
export const SHOWN = Symbol('shown');

/** The schema with a description for one place. The OpenAPI document still refers to the component, if it has an `$id`. */
export function described<const S extends object>(schema: S, description: string): S {
  const { $id, ...rest } = schema as S & { $id?: string };
  return { ...rest, description, ...($id !== undefined && { [SHOWN]: schema }) } as unknown as S;
}

type OrNull<S extends { type: string }> = Omit<S, 'type'> & { readonly type: readonly [S['type'], 'null'] };

/** As `described`, for a value that may be null. */
export function orNull<const S extends { type: string; enum?: readonly unknown[] }>(
  schema: S,
  description: string,
): OrNull<S> {
  const { type, enum: values } = schema;
  return {
    ...described(schema, description),
    type: [type, 'null'],
    ...(values && { enum: [...values, null] }),
  } as unknown as OrNull<S>;
}

/** Validates by `schema`, whose messages are better; the OpenAPI document shows a form that says more. */
export function shownAs<const S extends object>(schema: S, shown: object): S {
  return { ...schema, [SHOWN]: shown };
}
