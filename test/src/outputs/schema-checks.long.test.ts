import { expect } from 'chai';
import fc from 'fast-check';
import { registerSchema, unregisterSchema, validate, type SchemaObject } from '@hyperjump/json-schema/draft-2020-12';
import '@hyperjump/json-schema/draft-07';
import { CHECK_TIMEOUT_MS, SchemaChecks } from '../../../src/outputs/schema-checks.js';
import { outputSchema, outputValue } from '../../support/random-schemas.js';

const URIS = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  '7': 'http://json-schema.org/draft-07/schema#',
} as const;

describe('the checks of output schemas', () => {
  let checks: SchemaChecks;
  beforeEach(() => (checks = new SchemaChecks()));
  afterEach(() => checks.close());

  const problemOf = (schema: object, project = 'prj_a'): Promise<string | null> =>
    checks.checkSchema(project, JSON.stringify(schema));
  const errorsOf = (schema: object, value: unknown, project = 'prj_a'): Promise<string[]> =>
    checks.checkValue(project, JSON.stringify(schema), JSON.stringify(value));

  for (const draft of ['2020-12', '7'] as const) {
    it(`the checks of output schemas accept the values that an independent validator accepts, with 150 random schemas of draft ${draft}`, async () => {
      let registered = 0;
      let count = 0;
      let accepted = 0;
      await fc.assert(
        fc.asyncProperty(
          outputSchema(draft),
          fc.array(outputValue, { minLength: 4, maxLength: 4 }),
          async (schema, values) => {
            const uri = `https://test.example/${draft}/${(registered += 1)}`;
            registerSchema(structuredClone(schema) as SchemaObject, uri, URIS[draft]);
            const check = await validate(uri);
            unregisterSchema(uri);
            expect(await problemOf(schema)).to.equal(null);
            for (const value of values) {
              const json: unknown = JSON.parse(JSON.stringify(value));
              const { valid } = check(json as never);
              count += 1;
              if (valid) accepted += 1;
              expect((await errorsOf(schema, json)).length === 0, JSON.stringify({ schema, json })).to.equal(valid);
            }
          },
        ),
        { numRuns: 150 },
      );
      expect(accepted / count).to.be.within(0.2, 0.95);
    });
  }

  it('the checks of output schemas refuse a schema that says nothing, with the reason', async () => {
    const cases: [schema: object, reason: RegExp][] = [
      [{ type: 'object', properties: { a: { type: 'text' } } }, /\/properties\/a\/type must be equal to one of/],
      [{ type: 'object', required: 'a' }, /\/required must be array/],
      [{ type: 'object', properties: { a: { pattern: '(' } } }, /Invalid regular expression/],
      [{ type: 'object', patternProperties: { '[': true } }, /Invalid regular expression/],
      [
        { type: 'object', properties: { a: { $ref: '#/$defs/b' } } },
        /`\$ref` must lead to a part of the schema.*#\/\$defs\/b/,
      ],
      [{ type: 'object', $ref: 'https://example.com/schema.json' }, /`\$ref` must lead to a part/],
      [{ type: 'object', $ref: URIS['2020-12'] }, /`\$ref` must lead to a part/],
      [{ type: 'object', $ref: '#' }, /refers to itself without an end/],
      [{ type: 'object', $schema: 'http://json-schema.org/draft-04/schema#' }, /`\$schema` must be/],
    ];
    for (const [schema, reason] of cases) expect(await problemOf(schema), JSON.stringify(schema)).to.match(reason);
  });

  it('the checks of output schemas take the keywords of the draft that $schema names, and no format', async () => {
    const tuple = { items: [{ type: 'string' }], additionalItems: false };
    expect(await problemOf({ type: 'object', properties: { a: tuple } })).to.match(/items/);
    const old = { $schema: URIS['7'], type: 'object', properties: { a: tuple }, dependentRequired: { a: ['b'] } };
    expect(await errorsOf(old, { a: ['x'] })).to.deep.equal([]);
    expect(await errorsOf(old, { a: ['x', 1] })).to.deep.equal(['/a/1: is not allowed here']);
    const formats = {
      type: 'object',
      properties: { mail: { type: 'string', format: 'email' }, format: { type: 'string' } },
    };
    expect(await errorsOf(formats, { mail: 'no', format: 'x' })).to.deep.equal([]);
    expect(await errorsOf(formats, { format: 1 })).to.deep.equal([
      '/format: Instance type "number" is invalid. Expected "string".',
    ]);
  });

  it('the checks of output schemas follow references to anchors, dynamic ones too', async () => {
    const tree = {
      ...{ type: 'object', $dynamicAnchor: 'node', required: ['id'] },
      properties: { id: { $ref: '#id' }, children: { type: 'array', items: { $dynamicRef: '#node' } } },
      $defs: { id: { $anchor: 'id', type: 'integer' } },
    };
    expect(await problemOf(tree)).to.equal(null);
    expect(await errorsOf(tree, { id: 1, children: [{ id: 2 }] })).to.deep.equal([]);
    expect(await errorsOf(tree, { id: 1, children: [{ id: 'x' }, {}] })).to.have.length(2);
  });

  it('the checks of output schemas take names of JavaScript as any other name', async () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["constructor"],"additionalProperties":{"type":"string"}}',
    ) as object;
    expect(await problemOf(schema)).to.equal(null);
    const check = (json: string): Promise<string[]> => checks.checkValue('prj_a', JSON.stringify(schema), json);
    expect(await check('{}')).to.have.length(1);
    expect(await check('{"constructor":"x","__proto__":1}')).to.deep.equal([]);
    expect(await check('{"constructor":"x","__proto__":"y"}')).to.deep.equal([
      '/__proto__: Instance type "string" is invalid. Expected "integer".',
    ]);
  });

  it('the checks of output schemas name at most ten errors, each with its place and its reason', async () => {
    const schema = {
      type: 'object',
      properties: { 'a/b': { type: 'array', items: { type: 'integer' } } },
      additionalProperties: false,
    };
    const errors = await errorsOf(schema, { 'a/b': Array(20).fill('x'), c: 1 });
    expect(errors).to.have.length(10);
    expect(errors[0]).to.equal('/a~1b/0: Instance type "string" is invalid. Expected "integer".');
    expect(await errorsOf(schema, { c: 1 })).to.deep.equal(['/c: is not allowed here']);
    expect(await errorsOf({ type: 'object', required: ['a'] }, {})).to.deep.equal([
      '(the whole value): Instance does not have required property "a".',
    ]);
  });

  const forEver = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
  const slow = { a: `${'a'.repeat(60)}!` };
  /** Twice as many parts with each level. */
  const doubling = {
    type: 'object',
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        n === 39 ? { type: 'object' } : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
      ]),
    ),
  };

  it('the checks of output schemas end a check that takes too long, of a value and of a schema', async () => {
    expect(await problemOf(forEver)).to.equal(null);
    expect(await errorsOf(forEver, slow)).to.deep.equal([
      `(the whole value): takes longer than ${CHECK_TIMEOUT_MS} ms to check`,
    ]);
    expect(await problemOf(doubling)).to.equal(`takes longer than ${CHECK_TIMEOUT_MS} ms to check`);
    expect(await errorsOf(forEver, { a: 'aaa' })).to.deep.equal([]);
  });

  it('the checks of output schemas let a slow schema delay its own project only, and block nothing', async () => {
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 5);
    const ended: string[] = [];
    const hostile = Array.from({ length: 6 }, () =>
      errorsOf(forEver, slow, 'prj_hostile').then(() => ended.push('hostile')),
    );
    const honest = Array.from({ length: 20 }, () =>
      errorsOf(forEver, { a: 'aaa' }, 'prj_b').then(() => ended.push('honest')),
    );
    await Promise.all([...hostile, ...honest]);
    clearInterval(ticking);
    expect(ended.lastIndexOf('honest')).to.be.lessThan(ended.lastIndexOf('hostile') - 1);
    expect(ticks).to.be.greaterThan(20);
  });

  it('the checks of output schemas survive values that are deep, wide or full of errors', async () => {
    const list = { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } };
    expect((await errorsOf(list, { a: Array(120_000).fill(1) })).length).to.be.within(1, 10);
    const tree = { type: 'object', properties: { a: { $ref: '#' } }, additionalProperties: false };
    expect(
      (await checks.checkValue('prj_a', JSON.stringify(tree), `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`))
        .length,
    ).to.equal(1);
    expect(await errorsOf(tree, { a: { a: {} } })).to.deep.equal([]);
  });
});
