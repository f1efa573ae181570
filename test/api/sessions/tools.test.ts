import { expect } from 'chai';
import { checkTools, toModelTools } from '../../../src/sessions/check-tools.js';
import type { SessionTool } from '../../../src/db/entities/sessions.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { newAgent } from '../../support/agents.js';
import { insertMcpServer } from '../../support/factories.js';
import { reachedLimit } from '../../support/rows.js';
import { builtInTools } from '../../../activities/tools/built-in/source.js';
import { useService } from '../../support/use.js';

const model_id = 'test-model';
const object = { type: 'object' };
const custom = (fields: object = {}): object => ({
  type: 'custom',
  name: 'get_weather',
  description: 'Weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  ...fields,
});
const policy = (type: string): object => ({ permission_policy: { type } });

/** decisions.md "Person in the loop", "Session `tools`". */
describe('tools of a session', () => {
  const service = useService();
  before(async () => {
    await insertMcpServer(service.db, 'mcp_a');
    await insertMcpServer(service.db, 'mcp_b');
    const tools = JSON.stringify(['search', 'delete'].map((name) => ({ name, description: '', input_schema: {} })));
    await service.db.query("UPDATE mcp_servers SET tools = $1 WHERE id = 'mcp_a'", [tools]);
    await service.db.query("UPDATE mcp_servers SET tools = $1, allowed_tools = '{search}' WHERE id = 'mcp_b'", [tools]);
  });

  const create = (tools: unknown, mcp_servers: string[] = []) =>
    service.api('POST', '/v1/sessions', { model_id, tools, mcp_servers });
  const outcomeOf = async (tools: unknown, mcp_servers: string[] = []): Promise<string> => {
    const { status, body } = await create(tools, mcp_servers);
    if (status === 201) return 'ok';
    return [body.error.type, body.error.details?.errors?.[0].path].filter(Boolean).join(' ');
  };

  it('tools of a session say which types there are', async () => {
    for (const tool of [{ type: 'builtin' }, { type: 7 }]) {
      const { error } = (await create([tool])).body;
      expect(error.details.errors).to.deep.equal([
        { path: '/tools/0/type', message: 'must be mcp_toolset, workspace, memory, wait, agent or custom' },
      ]);
    }
    const { error } = (await create([{}])).body;
    expect(error.details.errors).to.deep.equal([{ path: '/tools/0/type', message: 'is required' }]);
  });

  it('tools of a session name agents that exist, each once, with a key that may read them', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 21; n += 1) ids.push((await newAgent(service.api, { model_id })).id as string);
    const [id] = ids;
    const agent = (agent_id: unknown, more: object = {}): object => ({ type: 'agent', agent_id, ...more });
    expect(await outcomeOf(ids.slice(1).map((one) => agent(one)))).to.equal('ok');
    const accepted = [agent(id, { version: 1, ...policy('always_ask') })];
    expect((await create(accepted)).body.tools).to.deep.equal(accepted);
    for (const [tools, outcome] of [
      [ids.map((one) => agent(one)), 'validation_error /tools/20/agent_id'],
      [[agent(id), agent(id, { version: 1 })], 'validation_error /tools/1/agent_id'],
      [[agent(id, { version: 0 })], 'validation_error /tools/0/version'],
      [[agent(id, { version: 'newest' })], 'validation_error /tools/0/version'],
      [[agent(id), custom({ name: 'agent__x' })], 'validation_error /tools/1/name'],
      [[custom({ name: 'agent__x' })], 'ok'],
      [[agent('agent_missing')], 'agent_not_found'],
      [[agent(id, { version: 2 })], 'agent_version_not_found'],
    ] as const)
      expect(await outcomeOf(tools), JSON.stringify(tools).slice(0, 100)).to.equal(outcome);
    reachedLimit('agents of a session: 20');
    const { key } = await createKey(service.db, { project: 'demo', scopes: ['sessions:write'] });
    const refused = await service.as(key)('POST', '/v1/sessions', { model_id, tools: [agent(id)] });
    expect(refused.body.error.details).to.deep.equal({ required: 'agents:read' });
  });

  it('tools of a session are returned as they were given, by every session response', async () => {
    const tools = [
      {
        configs: [{ permission_policy: { type: 'always_ask' }, name: 'delete' }],
        default_config: policy('always_allow'),
        mcp_server_id: 'mcp_a',
        type: 'mcp_toolset',
      },
      { type: 'mcp_toolset', mcp_server_id: 'mcp_b' },
      custom({ input_schema: { type: 'object', properties: { ['__proto__']: {} }, anyOf: [{ required: ['a'] }] } }),
    ];
    const { status, body } = await create(tools, ['mcp_a', 'mcp_b']);
    expect(status).to.equal(201);
    expect(JSON.stringify(body.tools)).to.equal(JSON.stringify(tools));
    expect(body.required_actions).to.deep.equal([]);
    const path = `/v1/sessions/${body.id}`;
    expect((await service.api('GET', path)).body).to.deep.equal(body);
    expect((await service.api('GET', '/v1/sessions')).body.items[0]).to.deep.equal(body);
    expect((await service.api('POST', `${path}/cancel`)).body).to.deep.equal(body);
    expect((await service.api('PATCH', path, { metadata: {} })).body).to.deep.include({ tools, required_actions: [] });
  });

  describe('mcp_toolset', () => {
    const toolset = (fields: object = {}): object => ({ type: 'mcp_toolset', mcp_server_id: 'mcp_a', ...fields });

    it('a tool entry mcp_toolset names one of the session’s own servers, once', async () => {
      expect(await outcomeOf([custom(), toolset()], [])).to.equal('validation_error /tools/1/mcp_server_id');
      expect(await outcomeOf([toolset()], ['mcp_b'])).to.equal('validation_error /tools/0/mcp_server_id');
      expect(await outcomeOf([toolset(), toolset()], ['mcp_a'])).to.equal('validation_error /tools/1/mcp_server_id');
    });

    it('a tool entry mcp_toolset configures tools that its server offers, after allowed_tools', async () => {
      const config = (name: string): object => ({ name, ...policy('always_ask') });
      const both = [config('search'), config('delete')];
      expect(await outcomeOf([toolset({ configs: both })], ['mcp_a'])).to.equal('ok');
      const { status, body } = await create(
        [toolset({ configs: [config('none')] }), { ...toolset({ configs: both }), mcp_server_id: 'mcp_b' }],
        ['mcp_a', 'mcp_b'],
      );
      expect([status, body.error.type]).to.deep.equal([422, 'unknown_mcp_tool']);
      expect(body.error.details).to.deep.equal({ tools: ['none', 'delete'] });
      expect(await outcomeOf([toolset({ configs: [config('mcp__mcp-a__search')] })], ['mcp_a'])).to.equal(
        'unknown_mcp_tool',
      );
      expect(await outcomeOf([toolset({ configs: [config('search'), config('search')] })], ['mcp_a'])).to.equal(
        'validation_error /tools/0/configs/1/name',
      );
    });

    it('a tool entry mcp_toolset needs a permission_policy in default_config and in each entry of configs', async () => {
      for (const [fields, path] of [
        [{ default_config: {} }, '/tools/0/default_config/permission_policy'],
        [{ default_config: policy('sometimes') }, '/tools/0/default_config/permission_policy/type'],
        [{ default_config: null }, '/tools/0/default_config'],
        [{ configs: [{ name: 'search' }] }, '/tools/0/configs/0/permission_policy'],
        [{ configs: [{ ...policy('always_ask') }] }, '/tools/0/configs/0/name'],
        [{ name: 'x' }, '/tools/0/name'],
      ] as const) {
        expect(await outcomeOf([toolset(fields)], ['mcp_a'])).to.equal(`validation_error ${path}`);
      }
    });

    it('a tool entry mcp_toolset comes after the check that its server exists', async () => {
      const missing = {
        type: 'mcp_toolset',
        mcp_server_id: 'mcp_none',
        configs: [{ name: 'x', ...policy('always_ask') }],
      };
      expect(await outcomeOf([missing], ['mcp_none'])).to.equal('mcp_server_not_found');
    });
  });

  describe('custom', () => {
    it('a tool entry custom has a name of 1–64 letters, digits, underscores and hyphens', async () => {
      for (const name of ['a', 'A-b_9', 'x'.repeat(64), 'mcp_']) {
        expect(await outcomeOf([custom({ name })]), name).to.equal('ok');
      }
      for (const name of ['', 'a b', 'ä', 'x'.repeat(65), 'a\n', 'mcp__', 'mcp__a__b', 7]) {
        expect(await outcomeOf([custom({ name })]), String(name)).to.equal('validation_error /tools/0/name');
      }
    });

    it('a tool entry custom has a name of its own, and not one of the service’s', async () => {
      expect(await outcomeOf([custom(), custom()])).to.equal('validation_error /tools/1/name');
      const builtIn = builtInTools({ skills: [{ id: 'skill_1', name: 'a', description: '' }], workspace: null });
      expect(builtIn).to.have.length(5);
      for (const { name } of builtIn) {
        expect(await outcomeOf([custom({ name })]), name).to.equal('validation_error /tools/0/name');
      }
    });

    it('a tool entry custom is one of at most 64', async () => {
      const many = (count: number): object[] => Array.from({ length: count }, (_, n) => custom({ name: `tool_${n}` }));
      expect(await outcomeOf(many(64))).to.equal('ok');
      expect(await outcomeOf(many(65))).to.equal('validation_error /tools/64');
      expect(await outcomeOf(many(102))).to.equal('validation_error /tools');
      reachedLimit('custom tools: 64');
    });

    it('a tool entry custom has a schema of at most 32 KiB, counted in bytes of compact JSON', async () => {
      const sized = (bytes: number, letter: string): object => {
        const room = bytes - Buffer.byteLength(JSON.stringify({ ...object, description: '' }));
        const width = Buffer.byteLength(letter);
        return { ...object, description: letter.repeat(Math.floor(room / width)) + 'a'.repeat(room % width) };
      };
      for (const letter of ['a', 'ä', '🦆']) {
        expect(await outcomeOf([custom({ input_schema: sized(32_768, letter) })]), letter).to.equal('ok');
        expect(await outcomeOf([custom({ input_schema: sized(32_769, letter) })]), letter).to.equal(
          'validation_error /tools/0/input_schema',
        );
      }
      reachedLimit('input_schema: 32 KiB');
    });

    it('a tool entry custom has a schema that is JSON Schema, of an object', async () => {
      for (const [schema, path] of [
        [undefined, '/tools/0/input_schema'],
        [true, '/tools/0/input_schema'],
        [[], '/tools/0/input_schema'],
        [{}, '/tools/0/input_schema/type'],
        [{ type: 'string' }, '/tools/0/input_schema/type'],
        [{ type: ['object'] }, '/tools/0/input_schema/type'],
        [{ ...object, properties: { a: { type: 'text' } } }, '/tools/0/input_schema'],
        [{ ...object, properties: 7 }, '/tools/0/input_schema'],
        [{ ...object, required: 'a' }, '/tools/0/input_schema'],
        [{ ...object, properties: { a: { pattern: '[' } } }, '/tools/0/input_schema'],
        [{ ...object, patternProperties: { '(': {} } }, '/tools/0/input_schema'],
        [{ ...object, properties: { a: { $ref: '#/$defs/none' } } }, '/tools/0/input_schema'],
        [{ ...object, properties: { a: { $ref: '#/%zz' } } }, '/tools/0/input_schema'],
        [{ ...object, $ref: 'https://example.com/schema' }, '/tools/0/input_schema'],
      ] as const) {
        expect(await outcomeOf([custom({ input_schema: schema })]), JSON.stringify(schema)).to.equal(
          `validation_error ${path}`,
        );
      }
      for (const schema of [
        object,
        { ...object, $schema: 'http://json-schema.org/draft-07/schema#' },
        { ...object, $ref: '#/$defs/a', $defs: { a: { properties: { a: { $ref: '#' } } } } },
        { ...object, properties: { 'a b': {}, pattern: { type: 'string' } }, oneOf: [{ required: ['a b'] }] },
      ]) {
        expect(await outcomeOf([custom({ input_schema: schema })]), JSON.stringify(schema)).to.equal('ok');
      }
    });

    it('a tool entry custom cannot stop the service with a schema that is expensive to compile', async () => {
      const branches = Array.from({ length: 790 }, () => ({ anyOf: [{}, { type: 'null' }] }));
      const references = Object.fromEntries(
        Array.from({ length: 400 }, (_, n) => [
          `d${n}`,
          { allOf: Array(2).fill({ $ref: `#/$defs/d${(n + 1) % 400}` }) },
        ]),
      );
      const tools = [
        custom({ name: 'branches', input_schema: { ...object, anyOf: branches } }),
        custom({ name: 'references', input_schema: { ...object, $defs: references, $ref: '#/$defs/d0' } }),
      ];
      expect(await outcomeOf(tools)).to.equal('ok');
    });

    it('a tool entry custom is checked and converted tool by tool, so that other requests run in between', async () => {
      const tools = Array.from({ length: 60 }, (_, number) => custom({ name: `tool-${number}` })) as SessionTool[];
      let turns = 0;
      let isDone = false;
      const count = (): void => {
        turns += 1;
        if (!isDone) setImmediate(count);
      };
      setImmediate(count);
      await checkTools(tools, []);
      expect(await toModelTools(tools)).to.have.length(60);
      isDone = true;
      expect(turns).to.be.at.least(120);
    });

    it('a tool entry custom is complete', async () => {
      for (const field of ['name', 'description', 'input_schema']) {
        expect(await outcomeOf([custom({ [field]: undefined })])).to.equal(`validation_error /tools/0/${field}`);
      }
      expect(await outcomeOf([custom({ more: 1 })])).to.equal('validation_error /tools/0/more');
      expect(await outcomeOf([{ type: 'other' }])).to.equal('validation_error /tools/0/type');
      expect(await outcomeOf([{}])).to.equal('validation_error /tools/0/type');
      expect(await outcomeOf([1])).to.equal('validation_error /tools/0');
      expect(await outcomeOf(null)).to.equal('validation_error /tools');
    });
  });
});
