import { expect } from 'chai';
import type { ModelEntry } from '../../../src/models/catalogue.js';
import { SCOPES } from '../../../src/projects/permissions.js';
import { newAgent, newSkill, pushSkill } from '../../support/agents.js';
import type { ApiResponse } from '../../support/client.js';
import { TEST_MODEL } from '../../support/config.js';
import { insertMcpServer } from '../../support/factories.js';
import { budget, PRICE } from '../../support/money.js';
import { newSchedule } from '../../support/schedules.js';
import { newToken } from '../../support/tokens.js';
import { useService } from '../../support/use.js';

const model = (id: string, more: Partial<ModelEntry> = {}): ModelEntry => ({ ...TEST_MODEL, id, ...more });
const MODELS = [model('one', { price: PRICE }), model('two', { price: PRICE }), model('free'), model('three')];
const custom = (name: string) => ({ type: 'custom', name, description: '', input_schema: { type: 'object' } });

describe('agents', () => {
  const service = useService({ models: MODELS, config: { rateLimitPerMinute: 0 } });
  const api = (...call: Parameters<typeof service.api>) => service.api(...call);
  const agentWith = (fields: object = {}) => newAgent(api, { model_id: 'one', ...fields });
  const patch = (id: string, body: object) => api('PATCH', `/v1/agents/${id}`, body);
  const get = async (path: string) => (await api('GET', path)).body;
  const session = (body: object) => api('POST', '/v1/sessions', body);
  /** `STATUS type place`. */
  const errorOf = ({ status, body }: ApiResponse): string =>
    [status, body?.error?.type, body?.error?.details?.errors?.[0].path].filter((part) => part !== undefined).join(' ');

  it('an agent shows the configuration of its newest version, with the defaults of a session', async () => {
    const skill = await newSkill(api, 'shown');
    const agent = await agentWith({ name: 'order-desk', skills: [skill, { name: 'shown' }] });
    expect(agent).to.deep.equal({
      ...{ id: agent.id, name: 'order-desk', description: '', version: 1, live_version: 1, model_id: 'one' },
      ...{ thinking_enabled: true, instruction: null, mcp_servers: [], tools: [], fallback_model_ids: [] },
      ...{ skills: [skill, { name: 'shown' }], created_at: agent.created_at, updated_at: agent.created_at },
    });
    expect(agent.id).to.match(/^agent_[0-9a-z]{26}$/);
    expect(await get(`/v1/agents/${agent.id}`)).to.deep.equal(agent);
    expect((await get('/v1/agents?name=order-desk')).items).to.deep.equal([agent]);
    expect((await get('/v1/agents?name=none')).items).to.deep.equal([]);
    const { id: agent_id, name: _, live_version: _live, updated_at: _updated, ...first } = agent;
    expect(await get(`/v1/agents/${agent.id}/versions/1`)).to.deep.equal({ ...first, agent_id });
  });

  it('an agent is refused with the errors of a new session, and of its own fields', async () => {
    await insertMcpServer(service.db, 'mcp_here');
    await agentWith({ name: 'taken' });
    for (const [fields, expected] of [
      [{ name: 'taken' }, '409 agent_name_taken'],
      [{ name: 'Upper' }, '422 validation_error /name'],
      [{ name: 'a--b' }, '422 validation_error /name'],
      [{ name: '-a' }, '422 validation_error /name'],
      [{ name: 'x'.repeat(65) }, '422 validation_error /name'],
      [{ model_id: undefined }, '422 validation_error /model_id'],
      [{ model_id: 'gone' }, '422 unknown_model'],
      [{ model_id: null }, '422 validation_error /model_id'],
      [{ description: 'x'.repeat(1025) }, '422 validation_error /description'],
      [{ description: null }, '422 validation_error /description'],
      [{ metadata: {} }, '422 validation_error /metadata'],
      [{ budget: null }, '422 validation_error /budget'],
      [{ user: 'ann' }, '422 validation_error /user'],
      [{ mcp_servers: ['mcp_none'] }, '404 mcp_server_not_found'],
      [{ tools: [{ type: 'mcp_toolset', mcp_server_id: 'mcp_here' }] }, '422 validation_error /tools/0/mcp_server_id'],
      [{ tools: [custom('read_file')] }, '422 validation_error /tools/0/name'],
      [{ tools: [{ type: 'workspace' }] }, '422 workspace_unavailable'],
      [{ fallback_model_ids: ['one'] }, '422 validation_error /fallback_model_ids/0'],
      [{ fallback_model_ids: ['gone'] }, '422 unknown_model'],
      [{ skills: Array.from({ length: 21 }, (_, n) => `skill_${n}`) }, '422 validation_error /skills'],
      [{ skills: ['skill_1', 'skill_1'] }, '422 validation_error /skills'],
      [{ skills: [{ name: 'a', other: 1 }] }, '422 validation_error /skills/0/other'],
    ] as [object, string][]) {
      const answer = await api('POST', '/v1/agents', { name: 'other', model_id: 'one', ...fields });
      expect(errorOf(answer), JSON.stringify(fields)).to.equal(expected);
    }
    const missing = await api('POST', '/v1/agents', {
      ...{ name: 'other', model_id: 'one', skills: ['skill_none', { name: 'none' }] },
    });
    expect(missing.body.error).to.deep.include({
      type: 'skill_not_found',
      details: { skill_ids: ['skill_none'], skill_names: ['none'] },
    });
    expect((await get('/v1/agents?name=other')).items).to.deep.equal([]);
  });

  it('an agent gets a version for each change, which is live at once; one that changes nothing makes none', async () => {
    const agent = await agentWith({ tools: [custom('b')], instruction: 'Old.' });
    const same = { tools: [{ input_schema: { type: 'object' }, name: 'b', description: '', type: 'custom' }] };
    for (const body of [{ instruction: 'Old.' }, same, { expected_version: 1 }, { live_version: 1 }]) {
      expect((await patch(agent.id, body)).body, JSON.stringify(body)).to.deep.equal(agent);
    }
    const changed = (await patch(agent.id, { instruction: null, description: 'Two' })).body;
    expect(changed).to.deep.equal({
      ...{ ...agent, version: 2, live_version: 2, instruction: null, description: 'Two' },
      updated_at: changed.updated_at,
    });
    expect(changed.updated_at > agent.updated_at).to.equal(true);
    const { items } = await get(`/v1/agents/${agent.id}/versions`);
    expect(
      items.map(({ version, instruction }: { version: number; instruction: string }) => [version, instruction]),
    ).to.deep.equal([
      [2, null],
      [1, 'Old.'],
    ]);
    expect(errorOf(await api('GET', `/v1/agents/${agent.id}/versions/3`))).to.equal('404 agent_version_not_found');
    expect(errorOf(await api('GET', `/v1/agents/${agent.id}/versions/01`))).to.equal('404 agent_version_not_found');
  });

  it('an agent has drafts that are published later, and goes back, by live_version', async () => {
    const agent = await agentWith();
    const draft = (await patch(agent.id, { instruction: 'Draft.', live_version: 1 })).body;
    expect(draft).to.include({ version: 2, live_version: 1, instruction: 'Draft.' });
    expect((await patch(agent.id, { live_version: 2 })).body).to.include({ version: 2, live_version: 2 });
    const back = (await patch(agent.id, { live_version: 1 })).body;
    expect(back).to.include({ version: 2, live_version: 1, instruction: 'Draft.' });
    expect(back.updated_at > draft.updated_at).to.equal(true);
    for (const [body, expected] of [
      [{ live_version: 3 }, '422 validation_error /live_version'],
      [{ live_version: 0 }, '422 validation_error /live_version'],
      [{ instruction: 'Third.', live_version: 3 }, '422 validation_error /live_version'],
      [{ live_version: null }, '422 validation_error /live_version'],
      [{}, '422 validation_error '],
      [{ name: 'other' }, '422 validation_error /name'],
      [{ model_id: null }, '422 validation_error /model_id'],
      [{ model_id: 'gone' }, '422 unknown_model'],
    ] as [object, string][]) {
      expect(errorOf(await patch(agent.id, body)), JSON.stringify(body)).to.equal(expected);
    }
    expect(await get(`/v1/agents/${agent.id}`)).to.deep.equal(back);
  });

  it('an agent changes for one who knows its newest version only, and at once for all who do not care', async () => {
    const agent = await agentWith();
    const conflict = await patch(agent.id, { instruction: 'Late.', expected_version: 2 });
    expect(errorOf(conflict)).to.equal('409 agent_version_conflict');
    expect(conflict.body.error.details).to.deep.equal({ version: 1 });
    expect(conflict.headers.get('x-should-retry')).to.equal('false');
    const bodies = ['a', 'b', 'c', 'd'].map((instruction) => ({ instruction }));
    const answers = await Promise.all(bodies.map((body) => patch(agent.id, body)));
    expect(answers.map(({ body }) => body.version).sort()).to.deep.equal([2, 3, 4, 5]);
    const only = await Promise.all(
      bodies.map((body) => patch(agent.id, { ...body, model_id: 'two', expected_version: 5 })),
    );
    expect(only.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409]);
  });

  it('an agent looks up only what a change names, and the whole must fit together', async () => {
    await insertMcpServer(service.db, 'mcp_fit');
    const skill = await newSkill(api, 'fit');
    const toolset = { type: 'mcp_toolset', mcp_server_id: 'mcp_fit' };
    const agent = await agentWith({
      mcp_servers: ['mcp_fit'],
      tools: [toolset],
      skills: [skill],
      fallback_model_ids: ['two'],
    });
    for (const [body, expected] of [
      [{ mcp_servers: [] }, '422 validation_error /tools/0/mcp_server_id'],
      [{ model_id: 'two' }, '422 validation_error /model_id'],
      [{ fallback_model_ids: ['one'] }, '422 validation_error /fallback_model_ids/0'],
    ] as [object, string][]) {
      expect(errorOf(await patch(agent.id, body)), JSON.stringify(body)).to.equal(expected);
    }
    await api('DELETE', '/v1/mcp-servers/mcp_fit');
    await api('DELETE', `/v1/skills/${skill}`);
    expect((await patch(agent.id, { instruction: 'More.' })).status).to.equal(200);
    expect(errorOf(await patch(agent.id, { mcp_servers: ['mcp_fit'] }))).to.equal('404 mcp_server_not_found');
    expect(errorOf(await patch(agent.id, { skills: [skill] }))).to.equal('404 skill_not_found');
  });

  it('an agent needs permissions for what it names, a session with it only that to read agents', async () => {
    await insertMcpServer(service.db, 'mcp_scope');
    const skill = await newSkill(api, 'scope');
    const without = async (...left: string[]) =>
      service.as(await service.newKey({ scopes: SCOPES.filter((scope) => !left.includes(scope)) }));
    const body = { name: 'scoped', model_id: 'one', mcp_servers: ['mcp_scope'], skills: [skill] };
    for (const scope of ['mcp_servers:read', 'skills:read']) {
      const { body: answer } = await (await without(scope))('POST', '/v1/agents', body);
      expect(answer.error.details).to.deep.equal({ required: scope });
    }
    const agent = await agentWith(body);
    for (const [scope, change] of [
      ['mcp_servers:read', { mcp_servers: ['mcp_scope'] }],
      ['skills:read', { skills: [skill] }],
    ] as const) {
      const { body: answer } = await (await without(scope))('PATCH', `/v1/agents/${agent.id}`, change);
      expect(answer.error.details).to.deep.equal({ required: scope });
    }
    const few = await without('mcp_servers:read', 'skills:read');
    expect((await few('POST', '/v1/sessions', { agent: agent.id })).status).to.equal(201);
    const overrides = { agent: { id: agent.id, overrides: { skills: [skill] } } };
    expect((await few('POST', '/v1/sessions', overrides)).body.error.details).to.deep.equal({
      required: 'skills:read',
    });
    const none = await without('agents:read');
    const { id } = (await session({ agent: agent.id })).body;
    for (const [method, path, sent] of [
      ['POST', '/v1/sessions', { agent: agent.id }],
      ['PATCH', `/v1/sessions/${id}`, { agent: agent.id }],
      ['POST', `/v1/sessions/${id}/fork`, { agent: agent.id }],
      ['POST', '/v1/schedules', newSchedule({ target: { type: 'new_session', session: { agent: agent.id } } })],
    ] as const) {
      expect((await none(method, path, sent)).body.error.details, path).to.deep.equal({ required: 'agents:read' });
    }
  });

  it('a session of an agent shows the configuration of its next turn', async () => {
    const agent = await agentWith({ instruction: 'One.', tools: [custom('run')], fallback_model_ids: ['two', 'free'] });
    const pinned = (await session({ agent: agent.id })).body;
    const following = (await session({ agent: { id: agent.id, version: 'live', overrides: { model_id: 'two' } } }))
      .body;
    const own = (await session({ model_id: 'one' })).body;
    expect(own.agent).to.equal(null);
    expect(pinned).to.deep.include({
      ...{ agent: { id: agent.id, version: 1, follows: false, overrides: {} }, model_id: 'one', instruction: 'One.' },
      ...{ tools: [custom('run')], fallback_model_ids: ['two', 'free'], thinking_enabled: true, mcp_servers: [] },
      ...{ cost: { amount: '0', currency: 'USD' } },
    });
    expect(following).to.deep.include({
      agent: { id: agent.id, version: 1, follows: true, overrides: { model_id: 'two' } },
      // A fallback that is the model is left out.
      ...{ model_id: 'two', fallback_model_ids: ['free'] },
    });
    await patch(agent.id, { instruction: 'Two.' });
    expect(await get(`/v1/sessions/${pinned.id}`)).to.deep.equal(pinned);
    expect(await get(`/v1/sessions/${following.id}`)).to.deep.equal({
      ...following,
      instruction: 'Two.',
      agent: { ...following.agent, version: 2 },
    });
    const list = (await get(`/v1/sessions?agent_id=${agent.id}`)).items;
    expect(list.map(({ id }: { id: string }) => id)).to.deep.equal([following.id, pinned.id]);
    expect((await get('/v1/sessions?agent_id=agent_none')).items).to.deep.equal([]);
    const active = (await get(`/v1/sessions?agent_id=${agent.id}&order=activity&status=IDLE`)).items;
    expect(active).to.have.length(2);
    const token = service.as(await newToken(service, following.id as string));
    expect((await token('GET', `/v1/sessions/${following.id}`)).body).to.include({ agent: null, instruction: null });
    const { status } = await api('DELETE', `/v1/agents/${agent.id}`);
    expect(status).to.equal(204);
    expect((await get(`/v1/sessions/${following.id}`)).agent).to.include({ version: 2, follows: false });
  });

  it('a session refuses fields beside its agent, and a reference that does not fit', async () => {
    const agent = await agentWith({ model_id: 'one', fallback_model_ids: ['two'] });
    const unpriced = await agentWith({ model_id: 'free' });
    const gone = await agentWith();
    await service.db.query(`UPDATE configurations SET model_id = 'left' WHERE id = $1`, [`${gone.id}@1`]);
    const of = (more: object) => ({ agent: { id: agent.id, ...more } });
    const over = (overrides: object) => of({ overrides });
    for (const [body, expected] of [
      [{}, '422 validation_error /model_id'],
      [{ agent: null }, '422 validation_error /agent'],
      [{ agent: { version: 1 } }, '422 validation_error /agent/id'],
      [{ agent: agent.id, model_id: 'one' }, '422 validation_error /model_id'],
      [{ agent: agent.id, thinking_enabled: false }, '422 validation_error /thinking_enabled'],
      [{ agent: agent.id, instruction: null }, '422 validation_error /instruction'],
      [{ agent: agent.id, mcp_servers: [] }, '422 validation_error /mcp_servers'],
      [{ agent: agent.id, tools: [] }, '422 validation_error /tools'],
      [{ agent: agent.id, fallback_model_ids: [] }, '422 validation_error /fallback_model_ids'],
      [{ agent: 'agent_none' }, '404 agent_not_found'],
      [of({ version: 2 }), '404 agent_version_not_found'],
      [of({ version: 1e15 }), '404 agent_version_not_found'],
      [of({ version: 0 }), '422 validation_error /agent/version'],
      [of({ version: 'newest' }), '422 validation_error /agent/version'],
      [over({ tools: [] }), '422 validation_error /agent/overrides/tools'],
      [over({ mcp_servers: [] }), '422 validation_error /agent/overrides/mcp_servers'],
      [over({ model_id: null }), '422 validation_error /agent/overrides/model_id'],
      [over({ model_id: 'gone' }), '422 unknown_model'],
      [over({ fallback_model_ids: ['gone'] }), '422 unknown_model'],
      [over({ fallback_model_ids: ['three', 'one'] }), '422 validation_error /agent/overrides/fallback_model_ids/1'],
      [over({ skills: ['skill_none'] }), '404 skill_not_found'],
      [{ agent: gone.id }, '422 unknown_model'],
      [{ agent: unpriced.id, budget: budget('1', 'stop') }, '422 validation_error /agent'],
      [{ ...over({ fallback_model_ids: ['free'] }), budget: budget('1', 'stop') }, '422 validation_error /agent'],
    ] as [object, string][]) {
      expect(errorOf(await session(body)), JSON.stringify(body)).to.equal(expected);
    }
    const { id } = (await session({ ...over({ instruction: null }), budget: budget('1', 'stop') })).body;
    const before = await get(`/v1/sessions/${id}`);
    for (const [body, expected] of [
      [{ agent: unpriced.id, metadata: { a: 'b' } }, '422 validation_error /agent'],
      [{ agent: null }, '422 validation_error /agent'],
      [{ agent: 'agent_none', budget: null }, '404 agent_not_found'],
    ] as [object, string][]) {
      expect(errorOf(await api('PATCH', `/v1/sessions/${id}`, body)), JSON.stringify(body)).to.equal(expected);
    }
    expect(await get(`/v1/sessions/${id}`)).to.deep.equal(before);
    const own = (await session({ model_id: 'one' })).body.id as string;
    expect(errorOf(await api('PATCH', `/v1/sessions/${own}`, { agent: agent.id }))).to.equal(
      '422 validation_error /agent',
    );
  });

  it('a session gets another reference by PATCH, which counts in updated_at unless it changes nothing', async () => {
    const [first, second] = [await agentWith({ instruction: 'First.' }), await agentWith({ instruction: 'Second.' })];
    const made = (await session({ agent: { id: first.id, overrides: { thinking_enabled: false } } })).body;
    const change = async (agent: unknown, more = {}) =>
      (await api('PATCH', `/v1/sessions/${made.id}`, { agent, ...more })).body;
    expect(await change({ id: first.id, version: 1, overrides: { thinking_enabled: false } })).to.deep.equal(made);
    const moved = await change(
      { id: second.id, version: 'live' },
      { metadata: { a: 'b' }, budget: budget('1', 'stop') },
    );
    expect(moved).to.deep.include({
      agent: { id: second.id, version: 1, follows: true, overrides: {} },
      ...{ instruction: 'Second.', thinking_enabled: true, metadata: { a: 'b' }, budget: budget('1', 'stop') },
    });
    expect(moved.updated_at > made.updated_at).to.equal(true);
    expect(await change({ id: second.id, version: 'live' })).to.deep.equal(moved);
    for (let times = 0; times < 3; times += 1) {
      const again = await change({ id: second.id, overrides: { instruction: `${times}` } });
      expect(again).to.include({ instruction: `${times}` });
    }
    // Overrides that no turn has are not kept.
    const kept = await service.db.query('SELECT FROM session_overrides WHERE session_id = $1', [made.id]);
    expect(kept).to.have.length(1);
  });

  it('a deleted agent is in no new reference and no operation, and its name is free', async () => {
    const agent = await agentWith({ name: 'short-lived' });
    const { id } = (await session({ agent: { id: agent.id, version: 'live' } })).body;
    expect((await api('DELETE', `/v1/agents/${agent.id}`)).status).to.equal(204);
    for (const [method, path, body] of [
      ['GET', `/v1/agents/${agent.id}`, undefined],
      ['PATCH', `/v1/agents/${agent.id}`, { instruction: 'x' }],
      ['DELETE', `/v1/agents/${agent.id}`, undefined],
      ['GET', `/v1/agents/${agent.id}/versions`, undefined],
      ['GET', `/v1/agents/${agent.id}/versions/1`, undefined],
      ['POST', '/v1/sessions', { agent: agent.id }],
      ['PATCH', `/v1/sessions/${id}`, { agent: { id: agent.id, version: 1 } }],
      ['POST', `/v1/sessions/${id}/fork`, { agent: agent.id }],
    ] as [string, string, object | undefined][]) {
      expect(errorOf(await api(method, path, body)), `${method} ${path}`).to.equal('404 agent_not_found');
    }
    const fork = (await api('POST', `/v1/sessions/${id}/fork`)).body;
    expect(fork.agent).to.deep.equal({ id: agent.id, version: 1, follows: false, overrides: {} });
    await agentWith({ name: 'short-lived' });
  });

  it('a project has at most 1,000 agents', async () => {
    const full = service.as(await service.newKey({ project: 'full' }));
    await service.db.query(
      `INSERT INTO agents (id, project_id, name, version, live_version, created_at, updated_at)
       SELECT 'agent_full_' || n, p.id, 'full-' || n, 1, 1, now(), now() FROM projects p, generate_series(1, 999) AS n
       WHERE p.name = 'full'`,
    );
    await newAgent(full, { model_id: 'one' });
    const { status, body } = await full('POST', '/v1/agents', { name: 'one-more', model_id: 'one' });
    expect([status, body.error.type]).to.deep.equal([409, 'agent_limit_reached']);
    await service.db.query(`UPDATE agents SET deleted_at = now() WHERE id = 'agent_full_1'`);
    await newAgent(full, { model_id: 'one' });
  });

  it('the rows of an agent count in the storage of its project', async () => {
    // A round moves changes to the sum of the project.
    const stored = `SELECT ((SELECT coalesce(sum(row_bytes), 0) FROM project_storage)
      + (SELECT coalesce(sum(bytes), 0) FROM row_byte_changes))::integer AS bytes`;
    const [before] = await service.db.query(stored);
    const random = Array.from({ length: 5000 }, () => Math.random().toString(36).slice(2)).join('');
    await agentWith({ instruction: random.slice(0, 50_000) });
    const [after] = await service.db.query(stored);
    expect(after.bytes - before.bytes).to.be.above(30_000);
  });

  it('a fork of a session has the same agent, another one, or another model of it', async () => {
    const agent = await agentWith({ fallback_model_ids: ['three'] });
    const other = await agentWith({ instruction: 'Other.' });
    const reference = { id: agent.id, version: 'live', overrides: { instruction: 'Mine.' } };
    const made = (await session({ agent: reference })).body;
    const fork = (body: object) => api('POST', `/v1/sessions/${made.id}/fork`, body);
    expect((await fork({})).body).to.deep.include({ agent: made.agent, instruction: 'Mine.' });
    const model = (await fork({ model_id: 'two' })).body;
    expect(model.agent).to.deep.equal({ ...made.agent, overrides: { instruction: 'Mine.', model_id: 'two' } });
    expect(model).to.deep.include({ model_id: 'two', fallback_model_ids: ['three'] });
    expect((await fork({ model_id: 'three' })).body).to.deep.include({ model_id: 'three', fallback_model_ids: [] });
    const moved = (await fork({ agent: other.id })).body;
    expect(moved).to.deep.include({
      instruction: 'Other.',
      agent: { id: other.id, version: 1, follows: false, overrides: {} },
    });
    expect(errorOf(await fork({ agent: other.id, model_id: 'two' }))).to.equal('422 validation_error /model_id');
    const own = (await session({ model_id: 'one', instruction: 'Own.' })).body.id as string;
    const joined = (await api('POST', `/v1/sessions/${own}/fork`, { agent: other.id })).body;
    expect(joined).to.include({ instruction: 'Other.' }).and.have.property('agent').not.equal(null);
    expect((await api('POST', `/v1/sessions/${joined.id}/fork`)).body).to.include({ instruction: 'Other.' });
  });

  it('a skill is replaced under its name in one step, and else its name stays taken', async () => {
    const first = (await pushSkill(api, 'pushed')).body;
    expect(errorOf(await pushSkill(api, 'pushed'))).to.equal('409 skill_name_taken');
    expect(errorOf(await pushSkill(api, 'pushed', 'x', '?replace=false'))).to.equal('409 skill_name_taken');
    for (const value of ['yes', '1', ''])
      expect(errorOf(await pushSkill(api, 'pushed', 'x', `?replace=${value}`))).to.equal(
        '422 validation_error /query/replace',
      );
    const second = await pushSkill(api, 'pushed', 'Second.', '?replace=true');
    expect([second.status, second.body.name]).to.deep.equal([201, 'pushed']);
    expect(second.body.id).to.not.equal(first.id);
    expect(errorOf(await api('GET', `/v1/skills/${first.id}`))).to.equal('404 skill_not_found');
    expect((await pushSkill(api, 'pushed-new', 'New.', '?replace=true')).status).to.equal(201);
    const form = new FormData();
    form.set('file', new Blob(['no skill']), 'SKILL.md');
    expect(errorOf(await api('POST', '/v1/skills?replace=true', form))).to.equal('422 invalid_skill_bundle');
    const names = (await get('/v1/skills?limit=100')).items.filter(({ name }: { name: string }) => name === 'pushed');
    expect(names).to.deep.equal([second.body]);
    // Those that come at once wait for each other, and one of them is there in every moment.
    const pushes = Promise.all(['a', 'b', 'c'].map((text) => pushSkill(api, 'pushed', text, '?replace=true')));
    let isDone = false;
    void pushes.then(() => (isDone = true));
    while (!isDone) {
      const [{ count }] = await service.db.query(
        `SELECT count(*)::integer AS count FROM skills WHERE name = 'pushed' AND deleted_at IS NULL`,
      );
      expect(count).to.equal(1);
    }
    expect((await pushes).map(({ status }) => status)).to.deep.equal([201, 201, 201]);
  });
});
