import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { sanitizeInputSchema } from '../../../src/mcp/input-schema.js';
import { Cleaner } from '../../../src/mcp/cleaner.js';
import { keepTools } from '../../../src/mcp/tools.js';

const object = { type: 'object' };
const STRING = { type: 'string' };

describe('input schemas of MCP tools', () => {
  it('input schemas of MCP tools pass as they are when the API takes them', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', enum: ['x'] }, b: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/B' }] } },
      required: ['a'],
      additionalProperties: false,
      $defs: { B: { type: 'integer' } },
    };
    expect(sanitizeInputSchema(schema)).to.deep.equal(schema);
  });

  for (const schema of [undefined, null, 1, 'x', [], { type: 'string' }, {}, { type: ['object', 'null'] }]) {
    it(`input schemas of MCP tools become an object: ${JSON.stringify(schema)}`, () => {
      expect(sanitizeInputSchema(schema).type).to.equal('object');
    });
  }

  it('input schemas of MCP tools lose the dialect, which has no meaning for a model', () => {
    const schema = { ...object, properties: { a: { type: 'number' } } };
    const $schema = 'http://json-schema.org/draft-07/schema#';
    expect(sanitizeInputSchema({ $schema, ...schema })).to.deep.equal(schema);
  });

  it('input schemas of MCP tools have no combinators at the top, but the parameters of their branches', () => {
    const branch = (name: string): object => ({ properties: { [name]: { type: 'string' } }, required: [name] });
    const both = { ...object, properties: { a: { type: 'string' }, b: { type: 'string' } } };
    expect(sanitizeInputSchema({ ...object, anyOf: [branch('a'), branch('b')] })).to.deep.equal(both);
    const nested = { allOf: [branch('a'), { oneOf: [branch('b')] }] };
    expect(sanitizeInputSchema(nested)).to.deep.equal({ ...both, required: ['a'] });
  });

  it('input schemas of MCP tools have their own definition resolved at the top', () => {
    const In = { ...object, properties: { a: {} }, required: ['a'] };
    expect(sanitizeInputSchema({ $ref: '#/definitions/In', definitions: { In } })).to.deep.include(In);
  });

  it('input schemas of MCP tools keep parameters whose names the API refuses: requests have aliases for them', () => {
    const properties = { $filter: {}, ['x'.repeat(65)]: {}, ok: {} };
    const schema = { ...object, properties, required: ['$filter', 'ok'] };
    expect(sanitizeInputSchema(schema)).to.deep.equal(schema);
  });

  const REPAIRED: [string, unknown, unknown][] = [
    [
      'a tuple of an older draft',
      { type: 'array', description: 'Start and end', items: [{ type: 'string' }, { type: 'int' }] },
      { type: 'array', description: 'Start and end', prefixItems: [{ type: 'string' }, { type: 'integer' }] },
    ],
    [
      'a tuple with more items',
      { type: 'array', items: [{}], additionalItems: { type: 'number' } },
      { type: 'array', prefixItems: [{}], items: { type: 'number' } },
    ],
    ['a type of another language', { type: 'STRING', description: 'd' }, { type: 'string', description: 'd' }],
    ['types of which one is unknown', { type: ['string', 'money', 'null'] }, { type: ['string', 'null'] }],
    ['a type that is unknown', { type: 'money', description: 'd' }, { description: 'd' }],
    ['any type', { type: 'any' }, {}],
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['exclusive limits of draft 4', { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    ['exclusive limits that are false', { maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
    ['limits that are texts', { minLength: '3', maximum: '1.5', maxItems: -1 }, { minLength: 3, maximum: 1.5 }],
    ['an empty enum', { type: 'string', enum: [] }, { type: 'string' }],
    ['an enum that is a text', { type: 'string', enum: 'a' }, { type: 'string' }],
    ['an empty description', { type: 'string', description: '', title: null }, { type: 'string' }],
    ['a default of another type', { type: 'string', default: 5 }, { type: 'string', default: 5 }],
    ['an unknown format', { type: 'string', format: 'phone' }, { type: 'string', format: 'phone' }],
    ['a format that is no text', { type: 'string', format: 5 }, { type: 'string' }],
    [
      'additionalProperties that is a text',
      { additionalProperties: 'no' },
      { additionalProperties: { description: 'no' } },
    ],
    ['additionalProperties that is null', { additionalProperties: null }, {}],
    ['properties that are a list', { type: 'object', properties: [] }, { type: 'object' }],
    ['required that has others than names', { required: ['a', 5, 'a'] }, { required: ['a'] }],
    [
      'required within a nested property',
      { properties: { a: { required: true } } },
      { properties: { a: {} }, required: ['a'] },
    ],
    ['a pattern that is not valid', { type: 'string', pattern: '(' }, { type: 'string' }],
    ['a pattern that not every API can read', { type: 'string', pattern: '^\\p{L}+$' }, { type: 'string' }],
    ['a pattern that every API can read', { ...STRING, pattern: '^[a-z]+$' }, { ...STRING, pattern: '^[a-z]+$' }],
    [
      'patterns for names',
      { type: 'object', patternProperties: { '^(.*)$': { type: 'string' } }, additionalProperties: false },
      { type: 'object', additionalProperties: { type: 'string' } },
    ],
    ['combinators with a wrong branch', { anyOf: [{ type: 'string' }, null] }, { anyOf: [{ type: 'string' }] }],
    ['an empty combinator', { anyOf: [], description: 'd' }, { description: 'd' }],
    ['a reference beside others', { $ref: '#/$defs/A', description: 'd' }, { $ref: '#/$defs/A', description: 'd' }],
    ['a reference to nowhere', { $ref: '#/$defs/B', description: 'd' }, { description: 'd' }],
    ['a reference to another document', { $ref: 'https://example.com/a.json', type: 'object' }, { type: 'object' }],
    ['a text in place of a schema', 'integer', { type: 'integer' }],
    ['null in place of a schema', null, {}],
    ['multipleOf 0', { type: 'number', multipleOf: 0 }, { type: 'number' }],
    ['an id', { $id: 'a#b', id: 'x', type: 'string' }, { type: 'string' }],
  ];
  for (const [what, broken, repaired] of REPAIRED) {
    it(`input schemas of MCP tools have one keyword repaired, and the others kept: ${what}`, () => {
      const around = (a: unknown) => ({ ...object, properties: { a, ok: STRING }, $defs: { A: STRING } });
      const schema = sanitizeInputSchema(around(broken));
      expect(schema).to.deep.equal(around(repaired));
      expect(new Ajv2020({ strict: false, validateFormats: false }).validateSchema(schema)).to.equal(true);
    });
  }

  it('input schemas of MCP tools have a property that says of itself that it is required in the list of required ones', () => {
    const who = { type: 'string', description: 'Mail address' };
    const properties = { who: { ...who, required: true }, why: { required: false } };
    const schema = sanitizeInputSchema({ ...object, properties, required: ['why'] });
    expect(schema).to.deep.equal({ ...object, properties: { who, why: {} }, required: ['why', 'who'] });
  });

  it('input schemas of MCP tools are bounded in size and depth', () => {
    const deep = JSON.parse(`${'{"properties":{"a":'.repeat(3000)}{}${'}}'.repeat(3000)}`) as unknown;
    expect(sanitizeInputSchema(deep)).to.deep.include(object);
    expect(sanitizeInputSchema({ ...object, description: 'x'.repeat(100_000) })).to.deep.equal(object);
  });

  it('input schemas of MCP tools are left open where branches at the top are too many, or multiply', () => {
    const branches = Array.from({ length: 1000 }, (_, index) => ({ properties: { [`p${index}`]: {} } }));
    expect(sanitizeInputSchema({ ...object, anyOf: branches })).to.deep.equal({ type: 'object' });
    const self = { $ref: '#/$defs/a' };
    const endless = { ...self, $defs: { a: { anyOf: Array.from({ length: 2500 }, () => self) } } };
    expect(sanitizeInputSchema(endless)).to.deep.equal({ type: 'object' });
    const few = sanitizeInputSchema({ ...object, anyOf: branches.slice(0, 60) });
    expect(Object.keys(few.properties as object)).to.have.length(60);
  });

  it('input schemas of MCP tools have at most 4,000 values', () => {
    // The schema, its type, `enum` and what is in it.
    const schema = (values: number): object => ({ ...object, enum: Array.from({ length: values - 3 }, () => ({})) });
    expect(sanitizeInputSchema(schema(4000)).enum).to.have.length(3997);
    expect(sanitizeInputSchema(schema(4001))).to.deep.equal({ type: 'object' });
  });

  it('input schemas of MCP tools that are nested too deeply cost a tool its schema and nothing else', async () => {
    const inputSchema = JSON.parse(`${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}`) as unknown;
    const { tools } = await keepTools([{ name: 'deep', inputSchema }, { name: 'next' }], new Cleaner(() => []), null);
    expect(tools.map(({ name, input_schema }) => [name, input_schema])).to.deep.equal([
      ['deep', { type: 'object' }],
      ['next', { type: 'object' }],
    ]);
  });

  it('input schemas of MCP tools takes the title where the description says nothing', async () => {
    const listed = [
      { name: 'a', description: ' \n', title: 'A', annotations: { title: 'B' } },
      { name: 'b', description: '', annotations: { title: 'B' } },
      { name: 'c' },
    ];
    const { tools: kept } = await keepTools(listed, new Cleaner(() => []), null);
    expect(kept.map(({ description }) => description)).to.deep.equal(['A', 'B', '']);
  });

  it('input schemas of MCP tools let others have their turn while a server’s many are checked', async () => {
    let turns = 0;
    const tick = (): void => {
      turns += 1;
      next = setImmediate(tick);
    };
    let next = setImmediate(tick);
    const tools = Array.from({ length: 50 }, (_, index) => ({ name: `t${index}`, inputSchema: object }));
    expect((await keepTools(tools, new Cleaner(() => []), null)).tools).to.have.length(50);
    clearImmediate(next);
    expect(turns).to.be.at.least(49);
  });

  it('input schemas of MCP tools are always valid, whatever a server sends', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const any = fc.anything({ maxDepth: 3, withNullPrototype: false });
    const keywords = { type: any, required: any, anyOf: any, allOf: any, $ref: fc.string() };
    const schemas = fc.record({ ...keywords, properties: fc.dictionary(fc.string(), any) }, { requiredKeys: [] });
    fc.assert(
      fc.property(schemas, (value) => {
        const json = JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? null : item));
        const schema = sanitizeInputSchema(JSON.parse(json));
        expect(schema.type).to.equal('object');
        expect(ajv.validateSchema(schema)).to.equal(true);
      }),
    );
  });
});
