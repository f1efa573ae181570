import { expect } from 'chai';
import { FormError, readForm } from '../../../src/forms/form.js';

const of = (field: unknown, more: object = {}): object => ({ type: 'object', properties: { a: field }, ...more });

/** decisions.md "Tasks and elicitation": a form is checked when its question comes. */
describe('the form of a question', () => {
  const valid: Record<string, object> = {
    'no field': { type: 'object', properties: {} },
    'every kind of field': {
      type: 'object',
      properties: {
        text: { type: 'string', title: 'T', description: 'D', minLength: 0, maxLength: 3, default: 'abc' },
        mail: { type: 'string', format: 'email', default: 'ada@example.com' },
        number: { type: 'number', minimum: -0.5, maximum: 1, default: 0.25 },
        integer: { type: 'integer', minimum: 1, maximum: 1, default: 1 },
        flag: { type: 'boolean', default: false },
        one: { type: 'string', enum: ['x', 'y'], enumNames: ['X', 'Y'], default: 'y' },
        titled: { type: 'string', oneOf: [{ const: 'x', title: 'X' }], default: 'x' },
        many: { type: 'array', items: { type: 'string', enum: ['x'] }, minItems: 0, maxItems: 2, default: ['x'] },
        titledMany: {
          type: 'array',
          items: {
            anyOf: [
              { const: 'x', title: 'Same' },
              { const: 'y', title: 'Same' },
            ],
          },
        },
      },
      required: ['text', 'many'],
    },
    'texts with emoji, line ends and right-to-left marks': of({
      type: 'string',
      title: '👩‍💻\n\u200F',
      enum: ['\u2066é\u2069'],
    }),
  };
  for (const [name, schema] of Object.entries(valid)) {
    it(`the form of a question may have ${name}`, () => {
      expect(readForm(schema)).to.deep.equal(schema);
    });
  }

  it('the form of a question keeps the keywords that MCP names', () => {
    const read = readForm({
      $schema: 'x',
      title: 'F',
      ...of({ type: 'string', pattern: '(a+)+$', const: 1, $ref: '#' }),
    });
    expect(read).to.deep.equal(of({ type: 'string' }));
    expect(readForm(of({ type: 'number', exclusiveMinimum: 'x', enum: [] }))).to.deep.equal(of({ type: 'number' }));
  });

  it('the form of a question may have null for what is not there', () => {
    const nulls = { title: null, description: null, default: null, enum: null, oneOf: null, format: null };
    const field = { type: 'string', ...nulls, minLength: null, maxLength: 3 };
    expect(readForm(of(field, { required: null }))).to.deep.equal(of({ type: 'string', maxLength: 3 }));
  });

  const anyOf = (...values: unknown[]) => ({ type: 'array', items: { anyOf: values } });
  const wrong: [unknown, string][] = [
    [null, 'type'],
    [[], 'type'],
    [{ type: 'object' }, 'properties'],
    [{ type: 'object', properties: [] }, 'properties'],
    [of(undefined), 'properties.a.type'],
    [of({}), 'properties.a.type'],
    [of({ type: ['string', 'null'] }), 'properties.a.type'],
    [of({ type: 'object', properties: {} }), 'properties.a.type'],
    [of({ type: 'null' }), 'properties.a.type'],
    [JSON.parse('{"type": "object", "properties": {"__proto__": {"type": "string"}}}'), 'properties.__proto__'],
    [{ type: 'object', properties: { 'a\u202Eb': { type: 'string' } } }, 'properties.a\u202Eb'],
    [of({ type: 'string' }, { required: ['a', 'a'] }), 'required has a value twice'],
    [of({ type: 'string' }, { required: ['b'] }), 'required names "b"'],
    [of({ type: 'string' }, { required: ['toString'] }), 'required names "toString"'],
    [of({ type: 'string' }, { required: 'a' }), 'required must be a list'],
    [of({ type: 'string' }, { required: [1] }), 'required must be a list'],
    [of({ type: 'string', title: 7 }), 'properties.a.title'],
    [of({ type: 'string', description: 'a\u202Eb' }), 'properties.a.description'],
    [of({ type: 'string', minLength: -1 }), 'properties.a.minLength'],
    [of({ type: 'string', minLength: 1.5 }), 'properties.a.minLength'],
    [of({ type: 'string', maxLength: '1' }), 'properties.a.maxLength'],
    [of({ type: 'string', minLength: 2, maxLength: 1 }), 'properties.a.minLength'],
    [of({ type: 'string', format: 'regex' }), 'properties.a.format'],
    [of({ type: 'string', format: 'toString' }), 'properties.a.format'],
    [of({ type: 'string', default: 1 }), 'properties.a.default'],
    [of({ type: 'string', maxLength: 1, default: 'ab' }), 'properties.a.default'],
    [of({ type: 'string', format: 'email', default: 'ab' }), 'properties.a.default'],
    [of({ type: 'number', minimum: 2, maximum: 1 }), 'properties.a.minimum'],
    [of({ type: 'number', minimum: '2' }), 'properties.a.minimum'],
    [of(JSON.parse('{"type": "number", "maximum": 1e999}')), 'properties.a.maximum'],
    [of({ type: 'integer', default: 1.5 }), 'properties.a.default'],
    [of({ type: 'boolean', default: 'true' }), 'properties.a.default'],
    [of({ type: 'string', enum: [] }), 'properties.a.enum must not be empty'],
    [of({ type: 'string', enum: ['x', 'x'] }), 'properties.a.enum has a value twice'],
    [of({ type: 'string', enum: ['x', 1] }), 'properties.a.enum'],
    [of({ type: 'string', enum: ['x\u0007'] }), 'properties.a.enum'],
    [of({ type: 'string', enum: ['x'], enumNames: [] }), 'properties.a.enumNames'],
    [of({ type: 'string', enum: ['x'], default: 'y' }), 'properties.a.default'],
    [of({ type: 'string', oneOf: [] }), 'properties.a.oneOf'],
    [of({ type: 'string', oneOf: [{ const: 'x' }] }), 'properties.a.oneOf'],
    [of({ type: 'string', oneOf: [{ type: 'string' }, { type: 'number' }] }), 'properties.a.oneOf'],
    [of({ type: 'array' }), 'properties.a.items'],
    [of({ type: 'array', items: { type: 'string' } }), 'properties.a.items'],
    [of({ type: 'array', items: { type: 'object', properties: {} } }), 'properties.a.items'],
    [of({ type: 'array', items: { type: 'string', enum: [] } }), 'properties.a.items.enum'],
    [of(anyOf()), 'properties.a.items.anyOf'],
    [of(anyOf({ const: 'x', title: 'X' }, { const: 'x', title: 'Y' })), 'properties.a.items.anyOf has a value twice'],
    [of({ ...anyOf({ const: 'x', title: 'X' }), minItems: 3, maxItems: 2 }), 'properties.a.minItems'],
    [of({ ...anyOf({ const: 'x', title: 'X' }), default: ['y'] }), 'properties.a.default'],
  ];
  for (const [schema, message] of wrong) {
    it(`the form of a question must not be ${JSON.stringify(schema).slice(0, 90)}`, () => {
      expect(() => readForm(schema))
        .to.throw(FormError)
        .with.property('message')
        .that.includes(`requestedSchema.${message}`);
    });
  }
});
