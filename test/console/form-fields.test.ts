import { expect } from 'chai';
import { contentOf, formFields } from '../../console/src/parts/form-fields.js';

const fieldOf = (property: object) => formFields({ type: 'object', properties: { a: property } })[0]!;

/** decisions.md "Tasks and elicitation": forms from the flat schemas of MCP. */
describe('fields of a form', () => {
  it('fields of a form have the limits of the schema', () => {
    const number = { type: 'number', minimum: 0.5, maximum: 9.5 };
    expect(fieldOf(number).limits).to.deep.equal({ min: 0.5, max: 9.5 });
    // From 0.5 the browser would take 1.5, 2.5, …
    expect(fieldOf({ ...number, type: 'integer' }).limits).to.deep.equal({ min: 1, max: 9.5 });
    expect(fieldOf({ type: 'string', minLength: 2, maxLength: 8 }).limits).to.deep.equal({
      minLength: 2,
      maxLength: 8,
    });
    expect(fieldOf({ type: 'number', minimum: 0, maximum: 0 }).limits).to.deep.equal({ min: 0, max: 0 });
    expect(fieldOf({ type: 'string', minimum: 1, minLength: 'x' }).limits).to.deep.equal({});
  });

  it('fields of a form have the input of the format', () => {
    const formats = ['email', 'uri', 'date', 'date-time', 'other'];
    const types = formats.map((format) => fieldOf({ type: 'string', format }).inputType);
    expect(types).to.deep.equal(['email', 'url', 'date', 'datetime-local', 'text']);
  });

  it('fields of a form show the names of the choices and send their values', () => {
    const named = [
      { value: 'eu', label: 'Europe' },
      { value: 'us', label: 'us' },
    ];
    const titled = [{ const: 'eu', title: 'Europe' }];
    expect(fieldOf({ type: 'string', enum: ['eu', 'us'], enumNames: ['Europe'] }).choices).to.deep.equal(named);
    expect(fieldOf({ type: 'string', oneOf: titled }).choices).to.deep.equal(named.slice(0, 1));
    expect(fieldOf({ type: 'array', items: { anyOf: titled } }).choices).to.deep.equal(named.slice(0, 1));
  });

  it('fields of a form send the defaults that the person leaves', () => {
    const at = '2026-11-24T01:02:03.000Z';
    const fields = formFields({
      type: 'object',
      properties: {
        branch: { type: 'string', default: 'main' },
        region: { type: 'string', enum: ['eu', 'us'], default: 'us' },
        replicas: { type: 'integer', default: 0 },
        force: { type: 'boolean', default: true },
        checks: { type: 'array', items: { enum: ['a', 'b'] }, default: ['b'] },
        at: { type: 'string', format: 'date-time', default: at },
        later: { type: 'string', format: 'date-time', default: 'soon' },
      },
    });
    const content = { branch: 'main', region: 'us', replicas: 0, force: true, checks: ['b'], at };
    expect(contentOf(fields, {})).to.deep.equal(content);
  });

  it('fields of a form send a local time with its zone', () => {
    const fields = [fieldOf({ type: 'string', format: 'date-time' })];
    const local = '2026-11-24T09:30';
    expect(contentOf(fields, { a: local })).to.deep.equal({ a: new Date(local).toISOString() });
  });
});
