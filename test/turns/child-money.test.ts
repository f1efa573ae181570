import { expect } from 'chai';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import { eventually } from '../support/eventually.js';
import { budget, cost, PRICE, tokens } from '../support/money.js';
import { message, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';
import { requiredActions } from '../support/waiting-turns.js';

/** decisions.md "Agents that call agents": what children cost is in the sums of their parent, and within its budget. */
describe('the money of agents that call agents', () => {
  const service = useTurnService({ model: { price: PRICE, max_output_tokens: 1000 } });
  afterEach(() => service.model.reset());

  const sessionOf = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const parentOf = (agentId: string, more: Record<string, unknown> = {}): Promise<string> =>
    service.session({ thinking_enabled: false, tools: [agentTool(agentId)], ...more });
  const resultsOf = async (sessionId: string) =>
    (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
  const answer = (content: string, output: number) => message([text(content)], tokens(output));
  const calls = (name: string, count: number) =>
    message(
      Array.from({ length: count }, (_, n) => callAgent(name, `Task ${n}.`)),
      tokens(10),
    );
  const waitsOf = async (kind: string, state: string): Promise<number> => {
    const [row] = await service.db.query<[{ n: number }]>(
      'SELECT count(*)::integer AS n FROM waits WHERE kind = $1 AND state = $2',
      [kind, state],
    );
    return row.n;
  };

  it('the cost of a session has that of its children, and usage counts each turn once under the parent', async () => {
    const agentId = await createAgent(service, 'spender');
    service.model.on(/Go/, steps(calls('spender', 2), answer('Done.', 5)));
    service.model.on(/Task/, steps(answer('Ready.', 100)));
    const sessionId = await parentOf(agentId, { metadata: { team: 'red' }, user: 'ada' });
    const [end] = (await service.run(sessionId, 'Go')).slice(-1);
    expect(end.usage_details.cost).to.deep.equal(cost('0.015'));
    expect(end.usage_details.delegated).to.deep.equal({
      ...{ turns: 2, model_calls: 2, input_tokens: 2, output_tokens: 200, cost: cost('0.2') },
    });
    expect((await sessionOf(sessionId)).cost).to.deep.equal(cost('0.215'));
    service.model.on(/Next/, steps(answer('Again.', 5)));
    await service.run(sessionId, 'Next');
    expect((await sessionOf(sessionId)).cost).to.deep.equal(cost('0.22'));
    const usage = async (group: string) => (await service.api('GET', `/v1/usage?group_by=${group}`)).body.items;
    expect(await usage('session')).to.deep.include({
      ...{ group: sessionId, turns: 4, model_calls: 5, input_tokens: 5, output_tokens: 220 },
      ...{ cache_read_input_tokens: 0, cache_creation_input_tokens: 0, cost: cost('0.22') },
    });
    const groupOf = async (grouping: string, name: string) =>
      (await usage(grouping)).find(({ group }: { group: string }) => group === name);
    expect(await groupOf('metadata.team', 'red')).to.deep.include({ turns: 4, cost: cost('0.22') });
    expect(await groupOf('user', 'ada')).to.deep.include({ turns: 4, cost: cost('0.22') });
    // By agent and model a child counts where it is itself.
    const ofAgent = { turns: 2, model_calls: 2, output_tokens: 200, cost: cost('0.2') };
    expect(await groupOf('agent', agentId)).to.deep.include(ofAgent);
    expect(await groupOf('agent_version', `${agentId}@1`)).to.deep.include(ofAgent);
  });

  it('children reserve what a call may cost, wait for each other, and never spend more than the budget of the parent', async () => {
    const agentId = await createAgent(service, 'sharer');
    service.model.on(/Go/, steps(calls('sharer', 4), answer('Done.', 5)));
    const gate = service.model.gate();
    service.model.on(/Task/, steps(message([wait(gate), text('Ready.')], tokens(300))));
    // 10 for the parent's first call; 1000 a call fits once beside another one that has reserved as much.
    const sessionId = await parentOf(agentId, { budget: budget('2.1', 'stop') });
    await service.send(sessionId, 'Go');
    await gate.reached;
    await eventually('two calls wait for the others', async () => (await waitsOf('reserve', 'open')) === 2);
    const [{ reserved }] = await service.db.query<[{ reserved: string }]>(
      `SELECT trim_scale(sum(reserved))::text AS reserved FROM model_calls WHERE ended_at IS NULL`,
    );
    expect(reserved).to.equal('2');
    expect(await sessionOf(sessionId)).to.deep.include({ status: 'RUNNING', required_actions: [] });
    gate.open();
    expect(await service.ended(sessionId)).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect((await sessionOf(sessionId)).cost).to.deep.equal(cost('1.215'));
    expect((await resultsOf(sessionId)).map(({ is_error }) => is_error)).to.deep.equal([false, false, false, false]);
  });

  it('a child whose worker died in a call holds no reserve while it waits to make the call again', async () => {
    const agentId = await createAgent(service, 'survivor');
    service.model.on(/Go/, steps(calls('survivor', 4), answer('Done.', 5)));
    const gate = service.model.gate();
    service.model.on(/Task/, steps(message([wait(gate), text('Ready.')], tokens(300))));
    const sessionId = await parentOf(agentId, { budget: budget('2.1', 'stop') });
    await service.send(sessionId, 'Go');
    await gate.reached;
    await eventually('two calls wait for the others', async () => (await waitsOf('reserve', 'open')) === 2);
    // What a dead worker leaves of each of the two: a call that has not ended, and that the next attempt would replace.
    await service.db.query(
      `WITH waiting AS (SELECT turn_id FROM waits WHERE kind = 'reserve' AND state = 'open'),
         begun AS (UPDATE turns SET model_calls = 1 FROM waiting WHERE id = turn_id)
       INSERT INTO model_calls (turn_id, step, position, call, message_id, worker_id, task_token, model_id, cost, currency, reserved)
       SELECT turn_id, 1, 1, 1, 'msg_dead', 'dead', '', 'scripted', 0, 'USD', 1 FROM waiting`,
    );
    gate.open();
    expect(await service.ended(sessionId)).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect((await resultsOf(sessionId)).map(({ is_error }) => is_error)).to.deep.equal([false, false, false, false]);
  });

  it('a child whose call does not fit stops as an error result, or waits until the budget of the parent is raised', async () => {
    const agentId = await createAgent(service, 'poor');
    service.model.on(/Go/, steps(calls('poor', 1), answer('Done.', 1)));
    service.model.on(/Task/, steps(message([toolUse('list_files')], tokens(300)), answer('Ready.', 10)));
    const stopped = await parentOf(agentId, { budget: budget('0.5', 'stop') });
    await service.send(stopped, 'Go');
    const end = await service.ended(stopped);
    const [result] = await resultsOf(stopped);
    expect(result).to.include({ is_error: true });
    expect(result.content).to.include('[stopped: budget_reached]');
    expect(end).to.include({ type: 'turn.completed' });

    const sessionId = await parentOf(agentId, { budget: budget('0.5', 'pause') });
    await service.send(sessionId, 'Go');
    const [action] = await requiredActions(service, sessionId);
    expect(action).to.deep.include({ type: 'budget', spent: cost('0.31'), max_cost: cost('0.5') });
    expect(action.session_id).to.be.a('string');
    const small = await service.api('PATCH', `/v1/sessions/${sessionId}`, { budget: budget('0.51', 'pause') });
    expect(small.body.required_actions[0].max_cost).to.deep.equal(cost('0.51'));
    await service.api('PATCH', `/v1/sessions/${sessionId}`, { budget: budget('5', 'pause') });
    expect(await service.ended(sessionId)).to.deep.include({ stop_reason: 'end_turn' });
    expect((await sessionOf(sessionId)).cost).to.deep.equal(cost('0.321'));
  });

  it('an agent without a price is not called where the session has a budget', async () => {
    const agentId = await createAgent(service, 'gratis');
    await service.db.query(`UPDATE configurations SET model_id = 'gone' WHERE id = $1 || '@1'`, [agentId]);
    service.model.on(/Go/, steps(calls('gratis', 1), answer('Done.', 1)));
    const sessionId = await parentOf(agentId, { budget: budget('5', 'stop') });
    await service.run(sessionId, 'Go');
    const [result] = await resultsOf(sessionId);
    expect(result.content).to.equal(
      'Not begun: the session has a budget, and a model of the agent gratis has no price.',
    );
  });

  it('what children cost counts at once, also after they are cancelled', async () => {
    const agentId = await createAgent(service, 'early');
    const gate = service.model.gate();
    service.model.on(/Go/, steps(calls('early', 1), answer('Done.', 1)));
    service.model.on(/Task/, ({ step }) =>
      step === 0 ? message([toolUse('list_files')], tokens(100)) : [wait(gate), text('Late.')],
    );
    const sessionId = await parentOf(agentId);
    await service.send(sessionId, 'Go');
    await gate.reached;
    expect((await sessionOf(sessionId)).cost).to.deep.equal(cost('0.11'));
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    const end = await service.ended(sessionId);
    const spent = Number((await sessionOf(sessionId)).cost.amount);
    expect(spent).to.be.at.least(0.11);
    expect(Number(end.usage_details.delegated.cost.amount) + Number(end.usage_details.cost.amount)).to.be.closeTo(
      spent,
      1e-9,
    );
    gate.open();
  });
});
