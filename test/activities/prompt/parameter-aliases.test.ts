import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { parameterAliases } from '../../../activities/prompt/parameter-aliases.js';
import { asJsonObject, type JsonObject } from '../../../src/platform/json-object.js';

const NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

describe('aliases of parameters', () => {
  const LONG = 'x'.repeat(65);
  const schema = {
    type: 'object',
    properties: {
      $filter: { type: 'string', description: 'OData' },
      'filter[id]': { type: 'array', items: { type: 'object', properties: { 'StartTime<': {}, plain: {} } } },
      plain: { anyOf: [{ $ref: '#/$defs/Where' }, { $ref: '#/properties/$filter' }] },
      [LONG]: { title: 'Long' },
    },
    required: ['$filter', 'plain'],
    dependentRequired: { $filter: ['filter[id]'] },
    $defs: { Where: { type: 'object', properties: { 'a/b': { type: 'integer' } }, required: ['a/b'] } },
  };

  it('aliases of parameters leave a schema as it is whose names the API accepts', () => {
    const plain = { type: 'object', properties: { 'a.b-c_1': {} }, required: ['a.b-c_1'] };
    const { schema: same, toTool } = parameterAliases(plain);
    expect(same).to.equal(plain);
    expect(toTool({ $any: 1 })).to.deep.equal({ $any: 1 });
  });

  it('aliases of parameters replace every name that the API refuses, also in nested schemas and references', () => {
    const aliased = parameterAliases(schema).schema;
    const [filter, byId, plain, long] = Object.keys(asJsonObject(aliased.properties));
    expect([filter, byId, plain, long].every((name) => NAME.test(name!))).to.equal(true);
    expect(filter).to.match(/^_filter_[0-9a-f]{12}$/);
    expect(aliased.required).to.deep.equal([filter, 'plain']);
    expect(aliased.dependentRequired).to.deep.equal({ [filter!]: [byId] });
    const properties = aliased.properties as Record<string, JsonObject>;
    expect(properties[filter!]).to.deep.equal({ title: '$filter', type: 'string', description: 'OData' });
    expect(properties[long!]).to.deep.equal({ title: 'Long' });
    expect((properties.plain!.anyOf as JsonObject[])[1]).to.deep.equal({ $ref: `#/properties/${filter}` });
    expect(JSON.stringify(aliased)).not.to.match(/"(\$filter|filter\[id\]|StartTime<|a\/b)":/);
    expect(new Ajv2020({ strict: false }).compile(aliased)({ [filter!]: 'x', [byId!]: [], plain: {} })).to.equal(false);
  });

  it('aliases of parameters are the same in every request, and lead back wherever they are in the input', () => {
    const { schema: first, toTool } = parameterAliases(schema);
    const { schema: second } = parameterAliases(structuredClone(schema));
    expect(second).to.deep.equal(first);
    const [filter, byId] = Object.keys(asJsonObject(first.properties)) as [string, string];
    const items = asJsonObject(asJsonObject(first.properties)[byId]).items;
    const [start] = Object.keys(asJsonObject(asJsonObject(items).properties)) as [string];
    const input = { [filter]: filter, [byId]: [{ [start]: 1, plain: null }], plain: { other: true } };
    expect(toTool(input)).to.deep.equal({
      $filter: filter,
      'filter[id]': [{ 'StartTime<': 1, plain: null }],
      plain: { other: true },
    });
  });
});
