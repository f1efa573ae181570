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
