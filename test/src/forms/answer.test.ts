import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { expect } from 'chai';
import fc from 'fast-check';
import { findMisfit } from '../../../src/forms/answer.js';
import { readForm } from '../../../src/forms/form.js';

const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(keywords: T) =>
  fc.record(keywords, { requiredKeys: [] });
const bounds = (low: string, high: string, value: fc.Arbitrary<number>) =>
  fc
    .tuple(value, value)
    .map(([a, b]) => ({ [low]: Math.min(a, b), [high]: Math.max(a, b) }))
    .chain((both) => fc.subarray([low, high]).map((kept) => Object.fromEntries(kept.map((key) => [key, both[key]]))));
const sizes = (low: string, high: string) => bounds(low, high, fc.nat({ max: 4 }));
const word = fc.constantFrom(
  '',
  'a',
  'b',
  'ab',
  'a@b.example',
  'https://a.example/',
  '2026-02-29',
  '2024-02-29',
  '👩‍💻é',
);
const dateTime = fc.constantFrom('2026-11-21T09:58:03Z', '2026-11-21T09:58:03', '2026-11-21t23:59:60+00:00', 'no');
const words = fc.uniqueArray(word, { minLength: 1, maxLength: 4 });
const titled = words.map((values) => values.map((value) => ({ const: value, title: 'T' })));
const labels = optional({ title: word, description: word });
const field = fc
  .tuple(
    labels,
    fc.oneof(
      fc.constant({ type: 'boolean' }),
      fc
        .tuple(
          fc.constantFrom('number', 'integer'),
          bounds('minimum', 'maximum', fc.float({ noNaN: true, noDefaultInfinity: true })),
        )
        .map(([type, range]) => ({ type, ...range })),
      fc
        .tuple(
          sizes('minLength', 'maxLength'),
          optional({ format: fc.constantFrom('email', 'uri', 'date', 'date-time') }),
        )
        .map(([size, format]) => ({ type: 'string', ...size, ...format })),
      words.map((values) => ({ type: 'string', enum: values, enumNames: values })),
      titled.map((oneOf) => ({ type: 'string', oneOf })),
      fc
        .tuple(sizes('minItems', 'maxItems'), words)
        .map(([size, values]) => ({ type: 'array', ...size, items: { type: 'string', enum: values } })),
      fc
        .tuple(sizes('minItems', 'maxItems'), titled)
        .map(([size, anyOf]) => ({ type: 'array', ...size, items: { anyOf } })),
    ),
  )
  .map(([label, rest]) => ({ ...label, ...rest }));
const name = fc.constantFrom('a', 'b', 'c/d', 'toString', 'constructor', '~');
const form = fc
  .dictionary(name, field, { noNullPrototype: true })
  .chain((properties) =>
    fc.subarray(Object.keys(properties)).map((required) => ({ type: 'object', properties, required })),
  );
const value = fc.oneof(
  word,
  dateTime,
  fc.boolean(),
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true }).filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value)),
  fc.array(word, { maxLength: 5 }),
  fc.constant(null),
  fc.constant({}),
);

/** decisions.md "Tasks and elicitation": the answers to forms of servers are checked by hand. */
describe('the answer to a form', () => {
  it('the answer to a form fits for us as it does for a validator of JSON Schema', () => {
    fc.assert(
      fc.property(form, fc.dictionary(name, value, { noNullPrototype: true }), (schema, given) => {
        const known = readForm(schema);
        expect(known).to.deep.equal(schema);
        const ajv = new Ajv({ strict: false, ownProperties: true });
        formats.default(ajv);
        const valid = ajv.compile({ ...schema, additionalProperties: false });
        // Half of them with the fields of the form alone, so that their values are looked at.
        const own = Object.fromEntries(Object.entries(given).filter(([key]) => Object.hasOwn(schema.properties, key)));
        for (const answer of [given, own]) expect(findMisfit(known, answer) === null).to.equal(valid(answer));
      }),
      { numRuns: 60 },
    );
  });

  it('the answer to a form is refused at the place that does not fit', () => {
    const known = readForm({
      type: 'object',
      properties: {
        'a/b': { type: 'string', format: 'date', maxLength: 20 },
        tags: { type: 'array', items: { type: 'string', enum: ['x', 'y'] }, minItems: 1 },
        count: { type: 'integer', minimum: 1 },
      },
      required: ['count'],
    });
    const misfit = (answer: object) =>
      Object.values(findMisfit(known, answer as Record<string, unknown>) ?? {}).join(' ');
    expect(misfit({ count: 1 })).to.equal('');
    expect(misfit({})).to.equal('/count is required');
    expect(misfit({ count: 0 })).to.equal('/count must be at least 1');
    expect(misfit({ count: 2 ** 53 - 1 })).to.equal('');
    expect(misfit({ count: 2 ** 53 })).to.equal('/count is beyond 2^53: not every digit of it can be kept');
    expect(misfit({ count: 1, more: 1 })).to.equal('/more is not a field of the form');
    expect(misfit({ count: 1, 'a/b': '2026-02-30' })).to.match(/^\/a~1b must be a date such as/);
    expect(misfit({ count: 1, tags: [] })).to.equal('/tags must have at least 1 entries');
    expect(misfit({ count: 1, tags: ['x', 'z'] })).to.equal('/tags/1 must be one of the values that the form offers');
    expect(misfit(JSON.parse('{"count": 1, "__proto__": 1}') as object)).to.equal(
      '/__proto__ is not a field of the form',
    );
  });

  it('the answer to a form is checked without expressions that go back over a long text', () => {
    const texts = ['a@' + 'a'.repeat(1e5), 'a@' + 'a-'.repeat(5e4), 'a@' + 'a.'.repeat(5e4), 'a.'.repeat(5e4)];
    texts.push(
      `a:${'/a'.repeat(5e4)}\\`,
      `a://${'a'.repeat(1e5)}\\`,
      `a://${'a:'.repeat(5e4)}\\`,
      `a:${'%41'.repeat(3e4)}\\`,
    );
    texts.push('2026-11-21T'.repeat(9000), `2026-11-21T09:58:03.${'1'.repeat(1e5)}`);
    for (const format of ['email', 'uri', 'date', 'date-time']) {
      const known = readForm({ type: 'object', properties: { text: { type: 'string', format } } });
      // Quadratic work on one of them would take minutes, and the test with it.
      for (const text of texts) expect(findMisfit(known, { text })).to.have.property('path', '/text');
    }
  });
});
