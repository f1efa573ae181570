import fc from 'fast-check';

/** Few names and values, so that random values often fit random schemas. */
const NAMES = ['a', 'b', 'c', 'é/~x'] as const;
const name = fc.constantFrom(...NAMES);
const leaf = fc.oneof(
  fc.constantFrom(null, true, false, 0, 1, 2, -1, 0.5, 1e21, '', 'a', 'ab', 'é😀', '12'),
  fc.integer({ min: -3, max: 12 }),
);

const jsonValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value;

const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object');
const small = fc.integer({ min: 0, max: 3 });
const names = fc.uniqueArray(name, { maxLength: 3 });
const pattern = fc.constantFrom('^a', 'b$', '^\\p{L}+$', '^\\d*$');

/** Schemas of every keyword of a draft but those that name places elsewhere. All are valid. */
function schemasOf(draft: '2020-12' | '7'): fc.Arbitrary<unknown> {
  const defs = definitionsOf(draft);
  return fc.letrec<{ schema: unknown; object: Record<string, unknown> }>((tie) => {
    const schema = tie('schema');
    const schemas = fc.array(schema, { minLength: 1, maxLength: 3 });
    const byName = fc.dictionary(name, schema, { maxKeys: 3 });
    const common = {
      type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
      const: jsonValue,
      enum: fc.uniqueArray(jsonValue, { minLength: 1, maxLength: 4, selector: (value) => JSON.stringify(value) }),
      ...{ minimum: small, maximum: small, exclusiveMinimum: small, exclusiveMaximum: small },
      multipleOf: fc.constantFrom(1, 2, 0.5, 0.1),
      ...{ minLength: small, maxLength: small, pattern },
      ...{ minItems: small, maxItems: small, uniqueItems: fc.boolean(), contains: schema },
      ...{ minProperties: small, maxProperties: small, required: names, properties: byName },
      ...{ additionalProperties: schema, propertyNames: schema },
      patternProperties: fc.dictionary(fc.constantFrom('^a', 'x'), schema, { maxKeys: 2 }),
      ...{ allOf: schemas, anyOf: schemas, oneOf: schemas, not: schema, if: schema, then: schema, else: schema },
      ...{ format: fc.constantFrom('email', 'date', 'uri'), title: fc.constant('A'), default: jsonValue },
      $ref: fc.constantFrom(`#/${defs}/leaf`, `#/${defs}/tree`),
    };
    const own =
      draft === '2020-12'
        ? {
            ...{ prefixItems: schemas, items: schema, minContains: small, maxContains: small },
            ...{ unevaluatedProperties: schema, unevaluatedItems: schema, dependentSchemas: byName },
            dependentRequired: fc.dictionary(name, names, { maxKeys: 2 }),
          }
        : {
            items: fc.oneof(schema, schemas),
            additionalItems: schema,
            dependencies: fc.dictionary(name, fc.oneof(names, schema), { maxKeys: 2 }),
          };
    const keyword = fc.oneof(
      ...Object.entries({ ...common, ...own }).map(([key, value]: [string, fc.Arbitrary<unknown>]) =>
        value.map((one) => ({ [key]: one })),
      ),
    );
    return {
      object: fc
        .array(keyword, { maxLength: 4 })
        .map((parts) => Object.assign({}, ...parts) as Record<string, unknown>),
      schema: fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.boolean(), tie('object')),
    };
  }).object;
}

function definitionsOf(draft: '2020-12' | '7'): string {
  return draft === '7' ? 'definitions' : '$defs';
}

/** A whole schema, with parts that others refer to: one of them is recursive. */
export function outputSchema(draft: '2020-12' | '7'): fc.Arbitrary<Record<string, unknown>> {
  const defs = definitionsOf(draft);
  return schemasOf(draft).map((schema) => {
    const { type: _type, ...rest } = schema as Record<string, unknown>;
    // In draft 7 it hides all that is beside it.
    if (draft === '7') delete rest.$ref;
    return {
      ...(draft === '7' && { $schema: 'http://json-schema.org/draft-07/schema#' }),
      ...rest,
      type: 'object',
      [defs]: {
        leaf: { type: ['string', 'integer'] },
        tree: {
          type: 'object',
          properties: { a: { $ref: `#/${defs}/tree` } },
          additionalProperties: { $ref: `#/${defs}/leaf` },
        },
      },
    };
  });
}

/** A value for such a schema. */
export const outputValue: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(name, jsonValue, { maxKeys: 4 });
