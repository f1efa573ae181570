import { expect } from 'chai';
import { inputFields, inputOf } from '../../console/src/mcp-servers/input-fields.js';
import { periodOf, periods } from '../../console/src/usage/period.js';

const fields = (properties: object, required: string[] = []) => inputFields({ type: 'object', properties, required });

describe('fields for the input of a tool', () => {
  it('fields for the input of a tool have a kind for each simple type, and JSON for others', () => {
    const kinds = fields({
      text: { type: 'string' },
      optional: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      both: { type: ['integer', 'null'] },
      flag: { type: 'boolean' },
      level: { enum: [1, 'two', null] },
      list: { type: 'array', items: { type: 'string' } },
      object: { type: 'object' },
      any: true,
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    }).map(({ form }) => [form.name, form.kind]);
    expect(Object.fromEntries(kinds)).to.deep.equal({
      ...{ text: 'text', optional: 'text', both: 'number', flag: 'choice', level: 'choice' },
      ...{ list: 'json', object: 'json', any: 'json', either: 'json' },
    });
  });

  it('fields for the input of a tool leave out what is empty, except a required text', () => {
    const all = fields(
      { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'boolean' }, d: { type: 'number' } },
      ['a'],
    );
    expect(inputOf(all, {})).to.deep.equal({ a: '' });
    expect(inputOf(all, { a: 'x', b: 'y', c: 'false', d: '2.5' })).to.deep.equal({ a: 'x', b: 'y', c: false, d: 2.5 });
  });

  it('fields for the input of a tool keep the type of choices and of JSON', () => {
    const all = fields({ level: { enum: [1, 'two'], default: 1 }, list: { type: 'array', default: [1] } });
    expect(inputOf(all, {})).to.deep.equal({ level: 1, list: [1] });
    expect(inputOf(all, { level: '"two"', list: '[{"a": null}]' })).to.deep.equal({
      level: 'two',
      list: [{ a: null }],
    });
    expect(() => inputOf(all, { list: '[1' })).to.throw('list must be JSON');
  });

  it('fields for the input of a tool are made of any schema', () => {
    for (const schema of [
      {},
      { type: 'object' },
      { properties: { a: null, b: [1], c: { type: 7, enum: 'x' } }, required: 7 },
    ])
      expect(() => inputOf(inputFields(schema), {})).to.not.throw();
  });
});

describe('the periods of usage', () => {
  const now = new Date('2026-03-31T23:30:00Z');

  it('the periods of usage are days of UTC and the months of a year', () => {
    const names = periods(now).map(([name]) => name);
    expect(names.slice(0, 5)).to.deep.equal(['7', '30', '90', '2026-03', '2026-02']);
    expect(names.at(-1)).to.equal('2025-04');
  });

  it('the periods of usage end before the next day or month', () => {
    const times = (period: string): string[] => Object.values(periodOf(period, now)).map((time) => time.toISOString());
    expect(times('7')).to.deep.equal(['2026-03-25T00:00:00.000Z', '2026-04-01T00:00:00.000Z']);
    expect(times('2025-12')).to.deep.equal(['2025-12-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z']);
  });
});
