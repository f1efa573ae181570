import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { budget as budgetOf, PRICE, tokens } from '../support/money.js';
import { message, text } from '../support/scripted-model.js';
import { newToken } from '../support/tokens.js';
import { useTurnService } from '../support/use.js';

/** docs/decisions.md "Copies by session tokens". */
describe('the budget of a session and its copies', function () {
  this.timeout(60_000);
  const service = useTurnService({ model: { price: PRICE } });
  const budget = (amount: string, on_reached: 'pause' | 'stop' = 'stop') => budgetOf(amount, on_reached);
  const of = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const session = (amount: string, on_reached: 'pause' | 'stop' = 'stop') =>
    service.session({ budget: budget(amount, on_reached), thinking_enabled: false });
  const copy = async (id: string): Promise<string> => {
    const api = service.as(await newToken(service, id, { scopes: ['fork'] }));
    const { status, body } = await api('POST', `/v1/sessions/${id}/fork`);
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  };
  const patch = (id: string, body: object) => service.api('PATCH', `/v1/sessions/${id}`, body);
  const reasonOf = async (id: string, content: string) => (await service.run(id, content)).at(-1).stop_reason as string;

  before(() => {
    service.model.on(/Spend/, message([text('done')], tokens(300)));
    service.model.on(/Little/, message([text('done')], tokens(2)));
  });

  it('the budget of a session and its copies is one: what all of them spend counts, and each shows its own cost', async () => {
    const first = await session('1');
    await service.run(first, 'Spend');
    const a = await copy(first);
    const b = await copy(a);
    expect((await of(b)).budget).to.deep.equal(budget('1'));
    expect((await of(a)).cost.amount).to.equal('0');
    await service.run(a, 'Spend');
    expect([(await of(first)).cost.amount, (await of(a)).cost.amount]).to.deep.equal(['0.3', '0.3']);
    // 0.4 are left: the output of a call is lowered to that.
    await service.run(b, 'Little');
    expect(service.model.requests.at(-1)!.body.max_tokens).to.equal(400);
    await service.run(b, 'Spend');
    // Less than 256 tokens are left to any of them.
    for (const id of [first, a, b]) expect(await reasonOf(id, 'Little'), id).to.equal('budget_reached');
    // A fork that a key makes of the first session begins anew.
    const own = (await service.api('POST', `/v1/sessions/${first}/fork`)).body.id as string;
    expect(await reasonOf(own, 'Little')).to.equal('end_turn');
    const ofCopy = (await service.api('POST', `/v1/sessions/${a}/fork`)).body.id as string;
    expect(await reasonOf(ofCopy, 'Little')).to.equal('budget_reached');
  });

  it('the budget of a session and its copies is not passed by calls at the same time: each reserves what it may cost', async () => {
    const first = await session('1');
    const ids = [first, await copy(first), await copy(first), await copy(first)];
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    service.model.on(/Together/, async () => {
      await gate;
      return message([text('done')], tokens(300));
    });
    const requests = service.model.requests.length;
    for (const id of ids) await service.send(id, 'Together');
    // A call that may take all that is left leaves nothing to the others, which end.
    await eventually('all but one have ended', async () => {
      const states = await Promise.all(ids.map(async (id) => (await of(id)).status as string));
      return states.filter((status) => status === 'COMPLETE').length === 3;
    });
    open();
    for (const id of ids) await service.ended(id);
    expect(service.model.requests.length - requests).to.equal(1);
    const costs = await Promise.all(ids.map(async (id) => Number((await of(id)).cost.amount)));
    expect(costs.reduce((sum, cost) => sum + cost, 0)).to.be.closeTo(0.3, 1e-9);
    expect(await reasonOf(ids[1]!, 'Spend')).to.equal('end_turn');
  });

  it('the budget of a session and its copies is changed in the first session alone, for all of them, also where a copy waits for it', async () => {
    const first = await session('0.5', 'pause');
    await service.run(first, 'Spend');
    const a = await copy(first);
    const refused = await patch(a, { budget: budget('9') });
    expect([refused.status, refused.body.error.details.errors[0].path]).to.deep.equal([422, '/budget']);
    expect((await patch(a, { metadata: { a: 'b' } })).status).to.equal(200);
    await service.send(a, 'Spend');
    await eventually('it waits', async () => (await of(a)).required_actions.length === 1);
    expect((await of(a)).required_actions[0]).to.deep.include({
      type: 'budget',
      spent: { amount: '0.3', currency: 'USD' },
      max_cost: { amount: '0.5', currency: 'USD' },
    });
    expect((await patch(first, { budget: budget('2', 'pause') })).status).to.equal(200);
    expect(await service.ended(a)).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect((await of(a)).budget).to.deep.equal(budget('2', 'pause'));
  });

  it('the budget of a session and its copies lets a copy that waits go on when the call of another one leaves enough', async () => {
    const first = await session('0.6', 'pause');
    const a = await copy(first);
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    service.model.on(/Slowly/, async () => {
      await gate;
      return message([text('done')], tokens(2));
    });
    await service.send(first, 'Slowly');
    await eventually('it is sent', () =>
      service.model.requests.some(({ body }) => JSON.stringify(body).includes('Slowly')),
    );
    await service.send(a, 'Little');
    await eventually('the copy waits', async () => (await of(a)).required_actions.length === 1);
    open();
    await service.ended(first);
    expect(await service.ended(a)).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
  });

  it('the budget of a session and its copies stays with the copies when sessions are deleted, and what these spent counts', async () => {
    const first = await session('1');
    await service.run(first, 'Spend');
    const a = await copy(first);
    const b = await copy(a);
    await service.run(a, 'Spend');
    for (const id of [first, a]) expect((await service.api('DELETE', `/v1/sessions/${id}`)).status).to.equal(204);
    await service.db.query('DELETE FROM turns WHERE session_id = ANY($1)', [[first, a]]);
    await service.run(b, 'Little');
    expect(service.model.requests.at(-1)!.body.max_tokens).to.equal(400);
    expect((await patch(b, { budget: null })).status).to.equal(422);
    const [family] = await service.db.query<[{ count: number }]>(
      'SELECT count(*)::integer AS count FROM session_families WHERE id = $1',
      [first],
    );
    expect(family.count).to.equal(1);
    await service.api('DELETE', `/v1/sessions/${b}`);
    expect(await service.db.query('SELECT FROM session_families WHERE id = $1', [first])).to.have.length(0);
  });
});
