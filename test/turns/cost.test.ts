import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { cut, failure, message, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { createTestDatabase } from '../support/postgres.js';
import { startTurnService, type TurnService } from '../support/turns.js';

/** For a million tokens; each kind of token has its own digits in a sum. */
const PRICE = { currency: 'USD', input: 1, output: 100, cache_read: 0.01, cache_write: 10_000 };
const USAGE = {
  input_tokens: 3,
  output_tokens: 5,
  cache_read_input_tokens: 7,
  cache_creation_input_tokens: 2,
};
/** 3 × 1 + 5 × 100 + 7 × 0.01 + 2 × 10,000, in millionths. */
const COST_OF_CALL = '0.02050307';

describe('the cost of turns', () => {
  let service: TurnService;
  before(async () => (service = await startTurnService({ model: { price: PRICE } })));
  after(() => service.close());

  const sessionOf = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const turnOf = async (id: string) => (await service.api('GET', `/v1/sessions/${id}/turns`)).body.items[0];
  const usd = (amount: string) => ({ amount, currency: 'USD' });

  it('the cost of turns is that of each kind of token, to the last digit, and adds up in the session', async () => {
    service.model.on(/Count/, message([text('done')], { usage: USAGE }));
    const session = await service.session();
    expect((await sessionOf(session)).cost).to.deep.equal(usd('0'));
    const events = await service.run(session, 'Count');
    expect(events.at(-1).usage_details.cost).to.deep.equal(usd(COST_OF_CALL));
    expect((await turnOf(session)).usage_details.cost).to.deep.equal(usd(COST_OF_CALL));
    await service.run(session, 'Count again');
    expect((await sessionOf(session)).cost).to.deep.equal(usd('0.04100614'));
    const { items } = (await service.api('GET', '/v1/sessions')).body;
    expect(items[0].cost).to.deep.equal(usd('0.04100614'));
  });

  it('the cost of turns includes each step, and calls that failed after they had reported usage', async () => {
    service.model.on(
      /Break off/,
      message([toolUse('list_files')], { usage: USAGE }),
      message([text('x', { chunk: 1, before: { 0: cut() } })], { usage: USAGE }),
      message([text('done')], { usage: USAGE }),
    );
    const session = await service.session({ thinking_enabled: false });
    const end = (await service.run(session, 'Break off')).at(-1);
    expect(end.usage_details.model_calls).to.equal(3);
    const { input_tokens: input, output_tokens: output } = end.usage;
    const { cache_read_input_tokens: read, cache_creation_input_tokens: write } = end.usage_details;
    const millionths =
      BigInt(input - read - write) * 100n + BigInt(output) * 10_000n + BigInt(read) + BigInt(write) * 1_000_000n;
    expect(end.usage_details.cost).to.deep.equal(usd(`0.${millionths.toString().padStart(8, '0')}`.replace(/0+$/, '')));
    expect((await sessionOf(session)).cost).to.deep.equal(end.usage_details.cost);
  });

  it('the cost of turns has in a session what its finished calls cost, and not what one under way has reported', async () => {
    const gate = service.model.gate();
    service.model.on(
      /Under way/,
      steps(message([toolUse('list_files')], { usage: USAGE }), message([wait(gate), text('done')], { usage: USAGE })),
    );
    const session = await service.session({ thinking_enabled: false });
    await service.send(session, 'Under way');
    await gate.reached;
    await eventually('the second call has reported its input', async () => {
      const rows = await service.db.query<unknown[]>(
        `SELECT FROM model_calls a JOIN turns ON turns.id = turn_id
         WHERE session_id = $1 AND a.ended_at IS NULL AND usage IS NOT NULL`,
        [session],
      );
      return rows.length > 0;
    });
    expect((await sessionOf(session)).cost).to.deep.equal(usd(COST_OF_CALL));
    gate.open();
    await service.ended(session);
    expect((await sessionOf(session)).cost).to.deep.equal(usd('0.04100614'));
  });

  it('the cost of turns is counted by model, failed calls included', async () => {
    const counted = async (): Promise<number> => {
      const metrics = (await service.as(null)('GET', '/metrics')).body as string;
      const line = metrics
        .split('\n')
        .find((one) => one.startsWith('model_cost_total{model="scripted",currency="USD"}'));
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    service.model.on(
      /Measure/,
      message([text('x', { chunk: 1, before: { 0: cut() } })], { usage: USAGE }),
      message([text('done')], { usage: USAGE }),
    );
    const before = await counted();
    const stranger = service.as(await service.newKey({ project: 'measured' }));
    const { body: session } = await stranger('POST', '/v1/sessions', { model_id: 'scripted' });
    await stranger('POST', `/v1/sessions/${session.id}/messages`, { content: 'Measure' });
    await eventually('the turn has ended', async () => {
      const { body } = await stranger('GET', `/v1/sessions/${session.id}`);
      return body.status === 'COMPLETE';
    });
    const { cost } = (await stranger('GET', `/v1/sessions/${session.id}`)).body;
    expect(Number(cost.amount)).to.be.above(1.9 * Number(COST_OF_CALL));
    expect((await counted()) - before).to.be.closeTo(Number(cost.amount), 1e-9);
  });

  it('the cost of turns is estimated if the server reports no usage of a complete answer', async () => {
    const none = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    service.model.on(/Free/, message([text('長'.repeat(350))], { usage: none }));
    const session = await service.session({ thinking_enabled: false });
    const end = (await service.run(session, 'Free')).at(-1);
    expect(end.usage.output_tokens).to.equal(300);
    expect(end.usage.input_tokens).to.be.above(0);
    const cost = usd(`0.${(end.usage.input_tokens + 300 * 100).toString().padStart(6, '0')}`.replace(/0+$/, ''));
    expect(end.usage_details).to.include({ model_calls: 1, estimated: true }).and.to.deep.include({ cost });
    expect((await turnOf(session)).usage_details).to.deep.equal(end.usage_details);
    expect((await sessionOf(session)).cost).to.deep.equal(cost);
    const groups = (await service.api('GET', '/v1/usage?group_by=session&limit=100')).body.items;
    expect(groups.find(({ group }: { group: string }) => group === session)).to.deep.include({ cost, ...end.usage });
  });

  it('the cost of turns is 0 for a turn whose model answered no call', async () => {
    service.model.on(/Refuse/, failure('invalid_request_error'));
    const session = await service.session();
    const end = (await service.run(session, 'Refuse')).at(-1);
    expect(end.type).to.equal('turn.failed');
    expect(end.usage_details.cost).to.deep.equal(usd('0'));
  });
});

describe('the cost of turns whose model gets another price', () => {
  it('the cost of turns whose model gets another price keeps the price of each call', async () => {
    const database = await createTestDatabase();
    const usage = { ...USAGE, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const shown: unknown[] = [];
    let session: string | undefined;
    for (const output of [100, 7, undefined]) {
      const service = await startTurnService({
        databaseUrl: database.url,
        model: output === undefined ? {} : { price: { ...PRICE, output } },
      });
      try {
        service.model.on(/Count/, message([text('done')], { usage }));
        session ??= await service.session();
        await service.run(session, 'Count');
        const { body } = await service.api('GET', `/v1/sessions/${session}`);
        const { items } = (await service.api('GET', `/v1/sessions/${session}/turns`)).body;
        const costs = items.map((turn: { usage_details: { cost: unknown } }) => turn.usage_details.cost);
        shown.push([body.cost, costs]);
      } finally {
        await service.close();
      }
    }
    await database.drop();
    const [first, second] = ['0.000503', '0.000038'].map((amount) => ({ amount, currency: 'USD' }));
    expect(shown).to.deep.equal([
      [first, [first]],
      [{ amount: '0.000541', currency: 'USD' }, [second, first]],
      [null, [null, second, first]],
    ]);
  });
});

describe('the cost of turns of a model without a price', () => {
  let service: TurnService;
  before(async () => (service = await startTurnService()));
  after(() => service.close());

  it('the cost of turns of a model without a price is null, in the turn and in the session', async () => {
    const session = await service.session();
    expect((await service.api('GET', `/v1/sessions/${session}`)).body.cost).to.equal(null);
    const end = (await service.run(session, 'Hello')).at(-1);
    expect(end.usage_details).to.include({ model_calls: 1, cost: null });
    expect((await service.api('GET', `/v1/sessions/${session}`)).body.cost).to.equal(null);
  });
});
