import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { budget as budgetOf, cost, PRICE, tokens } from '../support/money.js';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { useTemporalClient } from '../support/use.js';

const budget = (amount: string, on_reached: 'pause' | 'stop' = 'pause') => budgetOf(amount, on_reached);

describe('a turn that waits for a larger budget', () => {
  const client = useTemporalClient();
  let service: TurnService;
  let settings: TurnService['config'];
  before(async () => {
    service = await startTurnService({ model: { price: PRICE } });
    settings = { ...service.config };
  });
  after(() => service.close());
  afterEach(() => {
    Object.assign(service.config, settings);
    service.model.reset();
  });

  const sessionOf = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const patch = async (id: string, to: object | null) => {
    const { status, body } = await service.api('PATCH', `/v1/sessions/${id}`, { budget: to });
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  /** Its first call costs 0.3, the second one does not fit. */
  const waitingTurn = async (amount = '0.5') => {
    service.model.on(/Spend/, steps(message([toolUse('list_files')], tokens(300)), message([text('done')], tokens(2))));
    const session = await service.session({ budget: budget(amount), thinking_enabled: false });
    const turnId = await service.send(session, 'Spend');
    const [action] = await requiredActions(service, session);
    return { session, turnId, action };
  };
  const calls = () => service.model.requests.length;

  it('a turn that waits for a larger budget asks for one, waits on after a raise that is too small, and goes on after one that is enough', async () => {
    const { session, action } = await waitingTurn();
    const { expires_at, ...shown } = action;
    expect(shown).to.deep.equal({ type: 'budget', spent: cost('0.3'), max_cost: cost('0.5') });
    expect(expires_at).to.be.a('string');
    expect((await service.api('GET', '/v1/sessions?requires_action=true')).body.items).to.have.length(1);
    const refused = await service.api('POST', `/v1/sessions/${session}/messages`, { content: 'More' });
    expect([refused.status, refused.body.error.details.required_actions]).to.deep.equal([409, [action]]);

    const small = { ...action, max_cost: cost('0.55') };
    expect((await patch(session, budget('0.55'))).required_actions).to.deep.equal([small]);
    expect(await sessionOf(session)).to.deep.include({ status: 'RUNNING', required_actions: [small] });
    expect((await patch(session, budget('0.556'))).required_actions).to.deep.equal([]);
    const end = await service.ended(session);
    expect(end).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect(end.timing.waiting_ms).to.be.above(0);
    expect(calls()).to.equal(2);
    expect(service.model.requests.at(-1)!.body.max_tokens).to.equal(256);
    const asked = (await service.history(session)).filter(({ type }) => type === 'agent.requires_action');
    expect(asked.map(({ required_actions }) => required_actions)).to.deep.equal([[action], [small]]);
  });

  it('a turn that waits for a larger budget goes on without a budget, ends with one that stops, and is cancelled', async () => {
    const removed = await waitingTurn();
    await patch(removed.session, null);
    expect(await service.ended(removed.session)).to.include({ stop_reason: 'end_turn' });

    const stopped = await waitingTurn();
    await patch(stopped.session, budget('0.5', 'stop'));
    expect(await service.ended(stopped.session)).to.include({
      type: 'turn.completed',
      stop_reason: 'budget_reached',
    });
    expect(await sessionOf(stopped.session)).to.deep.include({ required_actions: [], continuable: true });

    const cancelled = await waitingTurn();
    await service.api('POST', `/v1/sessions/${cancelled.session}/cancel`);
    expect(await service.ended(cancelled.session)).to.include({ type: 'turn.cancelled' });
    expect((await sessionOf(cancelled.session)).required_actions).to.deep.equal([]);
  });

  it('a turn that waits for a larger budget holds no slot and no connection, however many wait', async () => {
    const turns = await Promise.all(Array.from({ length: 10 }, () => waitingTurn()));
    const held = async (): Promise<number> => {
      const described = await Promise.all(turns.map(({ turnId }) => client.workflow.getHandle(turnId).describe()));
      const metrics = (await service.as(null)('GET', '/metrics')).body as string;
      const slots = [...metrics.matchAll(/^temporal_worker_task_slots_used\{([^}]*)\} (\d+)/gm)];
      const [{ busy }] = await service.db.query<[{ busy: number }]>(
        `SELECT count(*)::integer AS busy FROM pg_stat_activity
         WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
      );
      const activities = described.flatMap(({ raw }) => raw.pendingActivities ?? []).length;
      return slots.reduce(
        (sum, [, labels, used]) => sum + (labels!.includes('ActivityWorker') ? Number(used) : 0),
        activities + busy,
      );
    };
    await eventually('activities, slots and transactions are over', async () => (await held()) === 0);
    const raised = await Promise.all(turns.map(({ session }) => patch(session, budget('1'))));
    expect(raised.map(({ required_actions }) => required_actions.length)).to.deep.equal(turns.map(() => 0));
    const ends = await Promise.all(turns.map(({ session }) => service.ended(session)));
    expect(ends.map(({ usage_details }) => usage_details.cost)).to.deep.equal(turns.map(() => cost('0.302')));
    expect(calls()).to.equal(20);
  });

  it('a turn that waits for a larger budget waits before its first call', async () => {
    service.model.on(/Hello/, message([text('done')], tokens(2)));
    const session = await service.session({ budget: budget('0.1') });
    await service.send(session, 'Hello');
    await requiredActions(service, session);
    await patch(session, budget('1'));
    expect(await service.ended(session)).to.include({ stop_reason: 'end_turn' });
    expect(calls()).to.equal(1);
  });

  it('a turn that waits for a larger budget waits again at a later step, and leaves the calls of the step alone', async () => {
    service.model.on(
      /Twice/,
      steps(
        message([toolUse('get_weather', {}, { id: 'toolu_1' })], tokens(300)),
        message([toolUse('get_weather', {}, { id: 'toolu_2' })], tokens(300)),
        message([text('done')], tokens(2)),
      ),
    );
    const tools = [customTool('get_weather')];
    const session = await service.session({ budget: budget('0.5'), tools, thinking_enabled: false });
    await service.send(session, 'Twice');
    const kinds = async () => (await requiredActions(service, session)).map(({ type }) => type);
    expect(await kinds()).to.deep.equal(['custom_tool_result']);
    await sendAnswers(service, session, [customResult('toolu_1', 'Sun.')]);
    await eventually('the budget is reached', async () => (await kinds())[0] === 'budget');
    await patch(session, budget('0.7'));
    await eventually(
      'the second call waits',
      async () => (await sessionOf(session)).required_actions[0]?.tool_use_id === 'toolu_2',
    );
    await patch(session, budget('0.7', 'stop'));
    expect(await kinds()).to.deep.equal(['custom_tool_result']);
    await sendAnswers(service, session, [customResult('toolu_2', 'Rain.')]);
    expect(await service.ended(session)).to.include({ stop_reason: 'budget_reached' });
    expect((await sendAnswers(service, session, [confirmation('budget', 'allow')])).status).to.equal(404);
  });

  it('a turn that waits for a larger budget loses no raise that comes as the turn begins to wait', async () => {
    service.model.on(/Race/, message([text('done')], tokens(2)));
    const ends = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const session = await service.session({ budget: budget('0.1') });
        await service.send(session, 'Race');
        await patch(session, budget('1'));
        return service.ended(session);
      }),
    );
    expect(ends.map(({ stop_reason }) => stop_reason)).to.deep.equal(Array.from({ length: 10 }, () => 'end_turn'));
  });

  it('a turn that waits for a larger budget waits before a summary too, and goes on, or ends without one', async () => {
    service = await startTurnService({ model: { price: PRICE, context_window: 8_000, max_output_tokens: 500 } });
    service.model.on(/^Long/, message([text('fine')], tokens(100)));
    service.model.on(/<transcript>/, message([text('SUMMARY')], tokens(50)));
    const summaries = () => service.model.requests.filter(({ userText }) => userText.includes('<transcript>')).length;
    const long = `Long ${'word '.repeat(1_600)}`;
    /** As many turns as the context takes without a summary, and a budget that the summary does not fit into. */
    const fullSession = async () => {
      const session = await service.session({ thinking_enabled: false });
      const before = summaries();
      for (let turn = 0; turn < 2; turn += 1) await service.run(session, long);
      expect(summaries()).to.equal(before);
      await patch(session, budget('0.4'));
      await service.send(session, long);
      return { session, before };
    };
    const raised = await fullSession();
    const [action] = await requiredActions(service, raised.session);
    expect(action).to.deep.include({ type: 'budget', spent: cost('0.2'), max_cost: cost('0.4') });
    expect(summaries()).to.equal(raised.before);
    await patch(raised.session, budget('1'));
    expect(await service.ended(raised.session)).to.include({ stop_reason: 'end_turn' });
    const calls = summaries() - raised.before;
    expect(calls).to.be.within(1, 4);
    expect(Number((await sessionOf(raised.session)).cost.amount)).to.be.closeTo(0.3 + 0.05 * calls, 1e-9);

    const stopped = await fullSession();
    await requiredActions(service, stopped.session);
    await patch(stopped.session, budget('0.4', 'stop'));
    expect(await service.ended(stopped.session)).to.include({ stop_reason: 'budget_reached' });
    expect(summaries()).to.equal(stopped.before);
  });

  it('a turn that waits for a larger budget ends as budget_reached when the budget is not changed in time', async () => {
    service.config.actionTimeoutSeconds = 1;
    const session = await service.session({ budget: budget('0.1') });
    await service.send(session, 'Hello');
    const end = await service.ended(session);
    expect(end).to.include({ type: 'turn.completed', stop_reason: 'budget_reached' });
    expect(end.timing.waiting_ms).to.be.at.least(900);
    expect(calls()).to.equal(0);
  });
});
