import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { sanitizeInputSchema } from '../../../src/mcp/input-schema.js';
import { Cleaner } from '../../../src/mcp/cleaner.js';
import { keepTools } from '../../../src/mcp/tools.js';

const object = { type: 'object' };

describe('input schemas of MCP tools', () => {
  it('pass as they are when the API takes them', () => {
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
    it(`become an object: ${JSON.stringify(schema)}`, () => {
      expect(sanitizeInputSchema(schema).type).to.equal('object');
    });
  }

  it('lose the dialect, which has no meaning for a model', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...object,
      properties: { a: { type: 'number' } },
    };
    expect(sanitizeInputSchema(schema)).to.deep.equal({ ...object, properties: { a: { type: 'number' } } });
  });

  it('have no combinators at the top, but the parameters of their branches', () => {
    const branch = (name: string): object => ({ properties: { [name]: { type: 'string' } }, required: [name] });
    expect(sanitizeInputSchema({ ...object, anyOf: [branch('a'), branch('b')] })).to.deep.equal({
      ...object,
      properties: { a: { type: 'string' }, b: { type: 'string' } },
    });
    expect(sanitizeInputSchema({ allOf: [branch('a'), { oneOf: [branch('b')] }] })).to.deep.equal({
      ...object,
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a'],
    });
  });

  it('have their own definition resolved at the top', () => {
    const schema = {
      $ref: '#/definitions/In',
      definitions: { In: { ...object, properties: { a: {} }, required: ['a'] } },
    };
    expect(sanitizeInputSchema(schema)).to.deep.include({ type: 'object', properties: { a: {} }, required: ['a'] });
  });

  it('lose parameters whose names the API refuses, and keep the tool', () => {
    const schema = { ...object, properties: { 'a b': {}, ['x'.repeat(65)]: {}, ok: {} }, required: ['a b', 'ok', 7] };
    expect(sanitizeInputSchema(schema)).to.deep.equal({ ...object, properties: { ok: {} }, required: ['ok'] });
  });

  it('accept any value where the schema is malformed', () => {
    const schema = {
      ...object,
      properties: { tuple: { type: 'array', items: [{}] }, wrong: { type: 'text' }, ok: true },
    };
    expect(sanitizeInputSchema(schema).properties).to.deep.equal({ tuple: {}, wrong: {}, ok: true });
    expect(sanitizeInputSchema({ ...object, additionalProperties: 'no' })).to.deep.equal(object);
  });

  it('are bounded in size and depth', () => {
    const deep = JSON.parse(`${'{"properties":{"a":'.repeat(3000)}{}${'}}'.repeat(3000)}`) as unknown;
    expect(sanitizeInputSchema(deep)).to.deep.include(object);
    expect(sanitizeInputSchema({ ...object, description: 'x'.repeat(100_000) })).to.deep.equal(object);
  });

  it('are left open where branches at the top are too many, or multiply', () => {
    const branches = Array.from({ length: 1000 }, (_, index) => ({ properties: { [`p${index}`]: {} } }));
    expect(sanitizeInputSchema({ ...object, anyOf: branches })).to.deep.equal({ type: 'object' });
    const self = { $ref: '#/$defs/a' };
    const endless = { ...self, $defs: { a: { anyOf: Array.from({ length: 2500 }, () => self) } } };
    expect(sanitizeInputSchema(endless)).to.deep.equal({ type: 'object' });
    const few = sanitizeInputSchema({ ...object, anyOf: branches.slice(0, 60) });
    expect(Object.keys(few.properties as object)).to.have.length(60);
  });

  it('have at most 4,000 values', () => {
    // The schema, its type, `enum` and what is in it.
    const schema = (values: number): object => ({
      type: 'object',
      enum: Array.from({ length: values - 3 }, () => ({})),
    });
    expect(sanitizeInputSchema(schema(4000)).enum).to.have.length(3997);
    expect(sanitizeInputSchema(schema(4001))).to.deep.equal({ type: 'object' });
  });

  it('that are nested too deeply cost a tool its schema and nothing else', async () => {
    const inputSchema = JSON.parse(`${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}`) as unknown;
    const tools = await keepTools([{ name: 'deep', inputSchema }, { name: 'next' }], new Cleaner(() => []));
    expect(tools.map(({ name, input_schema }) => [name, input_schema])).to.deep.equal([
      ['deep', { type: 'object' }],
      ['next', { type: 'object' }],
    ]);
  });

  it('let others have their turn while a server’s many are checked', async () => {
    let turns = 0;
    const tick = (): void => {
      turns += 1;
      next = setImmediate(tick);
    };
    let next = setImmediate(tick);
    const tools = Array.from({ length: 50 }, (_, index) => ({ name: `t${index}`, inputSchema: object }));
    expect(await keepTools(tools, new Cleaner(() => []))).to.have.length(50);
    clearImmediate(next);
    expect(turns).to.be.at.least(49);
  });

  it('are always valid, whatever a server sends', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const any = fc.anything({ maxDepth: 3, withNullPrototype: false });
    const schemas = fc.record(
      {
        type: any,
        properties: fc.dictionary(fc.string(), any),
        required: any,
        anyOf: any,
        allOf: any,
        $ref: fc.string(),
      },
      { requiredKeys: [] },
    );
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
