import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { budget as budgetOf, PRICE, tokens } from '../support/money.js';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

const budget = (amount: string, on_reached: 'pause' | 'stop' = 'stop') => budgetOf(amount, on_reached);

describe('the budget of a session', () => {
  const service = useTurnService({ model: { price: PRICE } });

  const sessionOf = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const patch = (id: string, body: object) => service.api('PATCH', `/v1/sessions/${id}`, body);
  const create = (body: object) => service.api('POST', '/v1/sessions', { model_id: 'scripted', ...body });

  it('the budget of a session is returned as it was given, replaced whole, and removed by null', async () => {
    const { body } = await create({ budget: budget('1.50') });
    expect(body.budget).to.deep.equal(budget('1.50'));
    expect((await sessionOf(body.id)).budget).to.deep.equal(budget('1.50'));
    const changed = (await patch(body.id, { budget: budget('2') })).body;
    expect(changed.budget).to.deep.equal(budget('2'));
    expect(changed.updated_at > body.updated_at).to.equal(true);
    const both = (await patch(body.id, { budget: null, metadata: { a: 'b' } })).body;
    expect([both.budget, both.metadata]).to.deep.equal([null, { a: 'b' }]);
    expect((await create({})).body.budget).to.equal(null);
  });

  it('the budget of a session is refused where it is malformed or in another currency', async () => {
    const { body: session } = await create({});
    const paths = async (answer: ReturnType<typeof create>) => {
      const { status, body } = await answer;
      expect(status).to.equal(422);
      return body.error.details.errors[0].path as string;
    };
    for (const amount of ['0', '0.0', '01', '.5', '1.', '-1', '1e3', '1.0000001', '1000000000', '', 'x']) {
      expect(await paths(create({ budget: budget(amount) })), amount).to.equal('/budget/max_cost/amount');
    }
    const euros = { max_cost: { amount: '1', currency: 'EUR' }, on_reached: 'stop' };
    expect(await paths(create({ budget: euros }))).to.equal('/budget');
    expect(await paths(patch(session.id, { budget: euros }))).to.equal('/budget');
    expect(await paths(patch(session.id, {}))).to.equal('');
  });

  it('the budget of a session stops a turn before a call that does not fit, keeps what is stored, and lets it be continued', async () => {
    service.model.on(/Spend/, steps(message([toolUse('list_files')], tokens(300)), message([text('done')], tokens(2))));
    const session = await service.session({ budget: budget('0.5'), thinking_enabled: false });
    const events = await service.run(session, 'Spend');
    expect(events.at(-1)).to.deep.include({ type: 'turn.completed', stop_reason: 'budget_reached' });
    expect(events.at(-1).usage_details.cost).to.deep.equal({ amount: '0.3', currency: 'USD' });
    expect(events.map(({ type }) => type)).to.include('agent.tool_result');
    expect(await sessionOf(session)).to.deep.include({ status: 'COMPLETE', continuable: true });
    expect(service.model.requests.at(-1)!.body.max_tokens).to.equal(500);

    await patch(session, { budget: budget('0.6') });
    expect((await service.api('POST', `/v1/sessions/${session}/continue`)).status).to.equal(201);
    expect(await service.ended(session)).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect(service.model.requests.at(-1)!.body.max_tokens).to.equal(300);
    expect((await sessionOf(session)).cost).to.deep.equal({ amount: '0.301', currency: 'USD' });
  });

  it('the budget of a session stops a turn at its first call', async () => {
    const session = await service.session({ budget: budget('0.255999') });
    const count = service.model.requests.length;
    expect((await service.run(session, 'Hello')).at(-1)).to.deep.include({
      stop_reason: 'budget_reached',
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    expect(service.model.requests).to.have.length(count);
    await patch(session, { budget: budget('0.256') });
    service.model.on(/Fits/, message([text('done')], tokens(256)));
    expect((await service.run(session, 'Fits')).at(-1).stop_reason).to.equal('end_turn');
  });

  it('the budget of a session holds the messages behind a turn that it has stopped, until one is released', async () => {
    service.model.on(/Ask/, message([toolUse('ask')], tokens(300)));
    service.model.on(/Second/, message([text('done')], tokens(2)));
    const ask = { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } };
    const session = await service.session({ budget: budget('0.5'), thinking_enabled: false, tools: [ask] });
    await service.send(session, 'Ask');
    await eventually('the tool waits', async () => (await sessionOf(session)).required_actions.length === 1);
    await service.send(session, 'Second', { when_running: 'queue' });
    const [{ tool_use_id }] = (await sessionOf(session)).required_actions;
    const answer = { type: 'user.custom_tool_result', tool_use_id, content: 'Yes.' };
    expect((await service.api('POST', `/v1/sessions/${session}/events`, { events: [answer] })).status).to.be.below(300);
    expect((await service.ended(session)).stop_reason).to.equal('budget_reached');
    expect((await sessionOf(session)).queue).to.deep.equal({ length: 1, state: 'held' });
    await patch(session, { budget: null });
    expect((await service.api('POST', `/v1/sessions/${session}/queue/release`)).status).to.equal(200);
    expect((await service.ended(session)).stop_reason).to.equal('end_turn');
    expect((await sessionOf(session)).queue).to.deep.equal({ length: 0, state: 'open' });
  });
});
