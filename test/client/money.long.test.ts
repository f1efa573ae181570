import { expect } from 'chai';
import { AgentSessionClient, type BudgetAction, type Event } from '../../client/src/index.js';
import { eventually } from '../support/eventually.js';
import { budget, cost, PRICE, tokens } from '../support/money.js';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { verifies } from '../support/webhook-receiver.js';
import { useTurnService, useWebhookReceiver } from '../support/use.js';

describe('the client and money', () => {
  let client: AgentSessionClient;
  const receiver = useWebhookReceiver();
  const service = useTurnService(() => ({
    model: { price: PRICE },
    config: { mcpAllowedHosts: [receiver.host], webhookDeliveries: true },
  }));
  before(async () => {
    client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key, retryForMs: 0 });
    service.model.on(
      /Spend/,
      steps(message([toolUse('list_files')], tokens(300)), message([text('All of it.')], tokens(2))),
    );
  });

  const newSession = async (amount: string, metadata = {}): Promise<string> =>
    (
      await client.createSession({
        model_id: 'scripted',
        thinking_enabled: false,
        budget: budget(amount, 'pause'),
        metadata,
      })
    ).id;

  it('the client and money run waits while the budget is reached, and goes on when it is raised', async () => {
    const session = await newSession('0.5');
    const asked: BudgetAction[] = [];
    const result = await client.run(
      session,
      { content: 'Spend' },
      {
        async onEvent(event) {
          if (event.type !== 'agent.requires_action') return;
          for (const action of event.required_actions) {
            if (action.type !== 'budget') continue;
            asked.push(action);
            const raised = await client.updateSession(session, { budget: budget('0.75', 'pause') });
            expect(raised).to.deep.include({ budget: budget('0.75', 'pause'), required_actions: [] });
          }
        },
      },
    );
    expect(asked.map(({ spent, max_cost }) => [spent, max_cost])).to.deep.equal([[cost('0.3'), cost('0.5')]]);
    expect(result).to.include({ status: 'completed', message: 'All of it.' });
    expect(result.end.usage_details!.cost).to.deep.equal(cost('0.302'));
    expect((await client.getSession(session)).cost).to.deep.equal(cost('0.302'));
    expect((await client.listModels()).items[0]!.price).to.deep.equal(PRICE);
  });

  it('a webhook of agent.requires_action is sent for a turn that waits for a larger budget', async () => {
    const { secret } = await client.createWebhook({ url: receiver.url, event_types: ['agent.requires_action'] });
    const session = await newSession('0.5', { order: '17' });
    await client.sendMessage(session, { content: 'Spend' });
    await eventually('a request', () => receiver.received.length > 0);
    const [request] = receiver.received;
    expect(verifies(secret, request!)).to.equal(true);
    const { event_id, metadata } = request!.payload.data as { event_id: string; metadata: object };
    expect(metadata).to.deep.equal({ order: '17' });
    const stored = (await service.history(session)).find(({ id }: Event) => id === event_id);
    expect(stored).to.deep.include({ type: 'agent.requires_action' });
    expect(stored.required_actions[0]).to.deep.include({ type: 'budget', spent: cost('0.3') });
    const waiting = await client.listSessions({ requires_action: true });
    expect(waiting.items.map(({ id }) => id)).to.deep.equal([session]);
    await client.updateSession(session, { budget: null });
    expect((await service.ended(session)).stop_reason).to.equal('end_turn');
  });

  it('the client iterates over usage, page by page', async () => {
    const groups = [];
    for await (const group of client.eachUsage({ group_by: 'metadata.order', limit: 1 })) groups.push(group);
    expect(groups.map(({ group, turns, cost: sum }) => [group, turns, sum])).to.deep.equal([
      ['17', 1, cost('0.302')],
      [null, 1, cost('0.302')],
    ]);
    const page = await client.listUsage({ group_by: 'model', from: '2026-01-01T00:00:00Z' });
    expect(page.items.map(({ group }) => group)).to.deep.equal(['scripted']);
  });
});
