import { expect } from 'chai';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { newAgent, newSkill, pushSkill } from '../support/agents.js';
import { TEST_MODEL } from '../support/config.js';
import { eventually } from '../support/eventually.js';
import { budget, PRICE } from '../support/money.js';
import { streaming } from '../support/open-turn.js';
import { createSchedule, newSchedule, runsOf } from '../support/schedules.js';
import { startScriptedModel, failure, steps, text, toolUse, type ScriptedModel } from '../support/scripted-model.js';
import { newToken } from '../support/tokens.js';
import { startTurnService, type TurnService } from '../support/turns.js';

describe('a turn of an agent', () => {
  let model: ScriptedModel;
  let service: TurnService;
  before(async () => {
    model = await startScriptedModel();
    const entry = (id: string, more: Partial<ModelEntry> = {}): ModelEntry => ({
      ...TEST_MODEL,
      ...{ id, base_url: model.url, model: id, price: PRICE, ...more },
    });
    const { price: _, ...free } = entry('free');
    service = await startTurnService({
      models: [entry('one'), entry('two'), free],
      config: { rateLimitPerMinute: 0 },
    });
    // The helpers of tests look for the scripted model there.
    Object.assign(service, { model });
  });
  after(async () => {
    await service.close();
    await model.close();
  });

  const api = (...call: Parameters<typeof service.api>) => service.api(...call);
  const agentWith = (fields: object = {}) => newAgent(api, { model_id: 'one', thinking_enabled: false, ...fields });
  const patch = async (id: string, body: object) => {
    const answer = await api('PATCH', `/v1/agents/${id}`, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
  };
  const session = async (agent: unknown, more: object = {}): Promise<string> => {
    const { status, body } = await api('POST', '/v1/sessions', { agent, ...more });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  };
  const follow = (id: string, overrides?: object, more?: object) =>
    session({ id, version: 'live', ...(overrides && { overrides }) }, more);
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers
  const turnsOf = async (id: string): Promise<any[]> => (await api('GET', `/v1/sessions/${id}/turns`)).body.items;
  const lastTurn = async (id: string) => (await turnsOf(id))[0];
  const lastSystem = (): string => JSON.stringify(model.requests.at(-1)!.body.system);
  const run = async (id: string, content: string) => {
    const events = await service.run(id, content);
    expect(events.at(-1), JSON.stringify(events.at(-1))).to.include({ type: 'turn.completed' });
    return events;
  };

  it('a turn of an agent begins with the version that is live, and keeps it while it is open', async () => {
    const agent = await agentWith({ instruction: 'Say one.' });
    const [following, pinned] = [await follow(agent.id), await session(agent.id)];
    const open = await streaming(service, { sessionId: following, content: 'Begin', then: [toolUse('list_files')] });
    await patch(agent.id, { instruction: 'Say two.', model_id: 'two' });
    model.on(/Begin/, 'Done.');
    open.gate.open();
    await service.ended(following);
    expect(lastSystem()).to.include('Say one.');
    expect((await lastTurn(following)).agent).to.deep.equal({ id: agent.id, version: 1, skills: [] });
    model.reply('Two.', 'One.');
    await run(following, 'Next');
    expect(lastSystem()).to.include('Say two.');
    expect(await lastTurn(following)).to.deep.include({
      model_id: 'two',
      agent: { id: agent.id, version: 2, skills: [] },
    });
    await run(pinned, 'Next');
    expect(lastSystem()).to.include('Say one.');
    expect(await lastTurn(pinned)).to.deep.include({
      model_id: 'one',
      agent: { id: agent.id, version: 1, skills: [] },
    });
    const token = service.as(await newToken(service, following));
    const shown = (await token('GET', `/v1/sessions/${following}/turns`)).body.items;
    expect(shown.map((turn: { agent: unknown }) => turn.agent)).to.deep.equal([null, null]);
  });

  it('messages that wait have the version of the time at which their turn begins', async () => {
    const agent = await agentWith({ instruction: 'Say one.' });
    const open = await streaming(service, { sessionId: await follow(agent.id), content: 'Before it' });
    await service.send(open.sessionId, 'Behind it', { when_running: 'queue' });
    await patch(agent.id, { instruction: 'Say two.' });
    model.on(/Behind it/, 'Two.');
    open.gate.open();
    await eventually('the second turn has ended', async () => {
      const turns = await turnsOf(open.sessionId);
      return turns.length === 2 && turns[0].ended_at !== null;
    });
    expect((await turnsOf(open.sessionId)).map(({ agent: of }) => of.version)).to.deep.equal([2, 1]);
    expect(lastSystem()).to.include('Say two.');
  });

  it('overrides stay over versions, and a reference that is replaced holds from the next turn on', async () => {
    const agent = await agentWith({ instruction: 'Say one.' });
    const id = await follow(agent.id, { instruction: 'Say mine.', model_id: 'two' });
    model.reply('Mine.');
    await run(id, 'First');
    await patch(agent.id, { instruction: 'Say two.', description: 'Two' });
    const open = await streaming(service, { sessionId: id, content: 'Meanwhile' });
    const { status } = await api('PATCH', `/v1/sessions/${id}`, { agent: { id: agent.id, version: 1 } });
    expect(status).to.equal(200);
    open.gate.open();
    await service.ended(id);
    expect(lastSystem()).to.include('Say mine.');
    model.reply('One.');
    await run(id, 'Third');
    expect(lastSystem()).to.include('Say one.');
    expect((await turnsOf(id)).map(({ model_id, agent: { version } }) => [model_id, version])).to.deep.equal([
      ['one', 1],
      ['two', 2],
      ['two', 1],
    ]);
  });

  it('a turn has the skills of its agent beside those of its message, each once, also for a session token', async () => {
    const [one, two] = [await newSkill(api, 'first-skill'), await newSkill(api, 'second-skill')];
    const agent = await agentWith({ skills: [one, { name: 'second-skill' }, { name: 'first-skill' }] });
    const id = await follow(agent.id);
    const token = service.as(await newToken(service, id));
    model.on(/Use it/, steps(toolUse('use_skill', { name: 'first-skill' }), 'Used.'));
    expect((await token('POST', `/v1/sessions/${id}/messages`, { content: 'Use it' })).status).to.equal(201);
    await service.ended(id);
    const events = await service.history(id);
    expect(events[0].skills).to.deep.equal([]);
    expect(events.find(({ type }) => type === 'agent.tool_result').content).to.include('Secret of first-skill');
    const skills = [
      { id: one, name: 'first-skill' },
      { id: two, name: 'second-skill' },
    ];
    expect((await lastTurn(id)).agent.skills).to.deep.equal(skills);

    const third = await newSkill(api, 'third-skill');
    await api('DELETE', `/v1/skills/${one}`);
    const replaced = (await pushSkill(api, 'second-skill', 'New.', '?replace=true')).body.id as string;
    model.reply('Again.');
    await service.send(id, 'Again', { skills: [third, replaced] });
    await service.ended(id);
    expect((await lastTurn(id)).agent.skills).to.deep.equal([{ id: replaced, name: 'second-skill' }]);
    const system = lastSystem();
    expect(system).to.include('About third-skill').and.not.include('About first-skill');
    expect(system.split('About second-skill')).to.have.length(2);
    expect((await service.history(id)).findLast(({ type }) => type === 'user.message').skills).to.have.length(2);

    await api('DELETE', `/v1/skills/${replaced}`);
    model.reply('None.');
    await run(id, 'None');
    expect((await lastTurn(id)).agent.skills).to.deep.equal([]);
  });

  it('a turn that is continued keeps its model and thinking, and has the rest of the session of now', async () => {
    const agent = await agentWith({ instruction: 'Say one.' });
    const id = await follow(agent.id);
    model.reply(failure('invalid_request_error'));
    await service.run(id, 'Try');
    await patch(agent.id, { instruction: 'Say two.', model_id: 'two', thinking_enabled: true });
    const goOn = async () => {
      expect((await api('POST', `/v1/sessions/${id}/continue`)).status).to.equal(201);
      await service.ended(id);
    };
    model.reply(failure('invalid_request_error'));
    await goOn();
    expect(lastSystem()).to.include('Say two.');
    expect(await lastTurn(id)).to.deep.include({ model_id: 'one', agent: { id: agent.id, version: 2, skills: [] } });
    expect(model.requests.at(-1)!.body).to.not.have.property('thinking');
    // A model that left the catalogue is that of the session.
    await service.db.query(`UPDATE turns SET model_id = 'gone' WHERE session_id = $1`, [id]);
    model.reply('Done.');
    await goOn();
    expect(await lastTurn(id)).to.include({ model_id: 'two', status: 'completed' });
  });

  it('a turn whose live version has a model without a price ends at the budget of its session, also with pause', async () => {
    const agent = await agentWith();
    const id = await follow(agent.id, undefined, { budget: budget('1', 'pause') });
    await patch(agent.id, { model_id: 'free' });
    const events = await service.run(id, 'Spend');
    expect(events.at(-1)).to.include({ type: 'turn.completed', stop_reason: 'budget_reached' });
  });

  it('a fallback that does not fit the turn is left out of it', async () => {
    const agent = await agentWith();
    const id = await follow(agent.id, undefined, { budget: budget('1', 'stop') });
    await patch(agent.id, { fallback_model_ids: ['free', 'two'] });
    model.on(/Fall/, ({ body }) => (body.model === 'one' ? failure('invalid_request_error') : text('Two.')));
    const events = await service.run(id, 'Fall');
    expect(events.filter(({ type }) => type === 'agent.model_changed')).to.have.length(1);
    expect(events.find(({ type }) => type === 'agent.model_changed')).to.include({ from: 'one', to: 'two' });
    expect(events.at(-1)).to.include({ stop_reason: 'end_turn' });
  });

  it('turns of agents are summed up by agent and by version, the others in the group null', async () => {
    const api2 = service.as(await service.newKey({ project: 'usage' }));
    const agent = await newAgent(api2, { model_id: 'one', thinking_enabled: false });
    const make = async (body: object): Promise<string> => (await api2('POST', '/v1/sessions', body)).body.id;
    const ids = [await make({ agent: { id: agent.id, version: 'live' } }), await make({ model_id: 'one' })];
    const turn = async (id: string) => {
      model.reply('Done.');
      const { body } = await api2('POST', `/v1/sessions/${id}/messages`, { content: 'Go' });
      await eventually('the turn has ended', async () => {
        return (await api2('GET', `/v1/sessions/${id}/turns/${body.turn_id}`)).body.ended_at !== null;
      });
    };
    await turn(ids[0]!);
    await api2('PATCH', `/v1/agents/${agent.id}`, { instruction: 'Two.' });
    for (const id of [ids[0]!, ids[0]!, ids[1]!]) await turn(id);
    const groups = async (by: string) =>
      (await api2('GET', `/v1/usage?group_by=${by}`)).body.items.map(
        ({ group, turns }: { group: string; turns: number }) => [group, turns],
      );
    expect(await groups('agent')).to.deep.equal([
      [agent.id, 3],
      [null, 1],
    ]);
    expect(await groups('agent_version')).to.deep.equal([
      [`${agent.id}@1`, 1],
      [`${agent.id}@2`, 2],
      [null, 1],
    ]);
  });

  it('a schedule begins sessions of the version that is live at each run, and skips the run of an agent that is gone', async () => {
    const agent = await agentWith({ instruction: 'Say one.' });
    const target = { type: 'new_session', session: { agent: { id: agent.id, overrides: { model_id: 'two' } } } };
    const schedule = await createSchedule(api, newSchedule({ target }));
    expect(schedule.target.session).to.deep.include({ agent: target.session.agent }).and.not.have.property('model_id');
    await patch(agent.id, { instruction: 'Say two.' });
    model.on(/Report/, 'Done.');
    expect((await api('POST', `/v1/schedules/${schedule.id}/run`)).status).to.equal(200);
    await eventually('the run has started', async () => (await runsOf(api, schedule.id)).length === 1);
    const [first] = await runsOf(api, schedule.id);
    await service.ended(first.session_id);
    expect((await api('GET', `/v1/sessions/${first.session_id}`)).body.agent).to.deep.equal({
      ...{ id: agent.id, version: 2, follows: false, overrides: { model_id: 'two' } },
    });
    await api('DELETE', `/v1/agents/${agent.id}`);
    await api('POST', `/v1/schedules/${schedule.id}/run`);
    await eventually('the run was skipped', async () => (await runsOf(api, schedule.id)).length === 2);
    expect((await runsOf(api, schedule.id))[0]).to.include({ state: 'skipped', reason: 'not_found' });
    for (const [session, path] of [
      [{ agent: agent.id }, undefined],
      [{ agent: agent.id, tools: [] }, '/target/session/tools'],
      [{}, '/target/session/model_id'],
    ] as const) {
      const { body } = await api('POST', '/v1/schedules', newSchedule({ target: { type: 'new_session', session } }));
      expect(body.error.details?.errors[0].path).to.equal(path);
    }
  });

  it('sessions that follow a deleted agent go on with the version that was live, and copied turns with what they ran with', async () => {
    const agent = await agentWith({ instruction: 'Say one.' });
    const own = await service.session({ model_id: 'two', instruction: 'Say own.', thinking_enabled: false });
    model.reply('Own.');
    await run(own, 'First');
    const fork = (await api('POST', `/v1/sessions/${own}/fork`, { agent: { id: agent.id, version: 'live' } })).body;
    await patch(agent.id, { instruction: 'Say two.' });
    await patch(agent.id, { instruction: 'Say draft.', live_version: 2 });
    await api('DELETE', `/v1/agents/${agent.id}`);
    model.reply('Two.');
    await run(fork.id, 'Second');
    expect(lastSystem()).to.include('Say two.');
    const turns = (await turnsOf(fork.id)).map(({ model_id, agent: of }) => [model_id, of?.version ?? null]);
    expect(turns).to.deep.equal([
      ['one', 2],
      ['two', null],
    ]);
    const again = (await api('POST', `/v1/sessions/${fork.id}/fork`)).body;
    expect((await turnsOf(again.id)).map(({ model_id }) => model_id)).to.deep.equal(['one', 'two']);
  });
});
