import { expect } from 'chai';
import { AgentSessionClient, ApiError, type StreamEvent } from '../../client/src/index.js';
import { streaming } from '../support/open-turn.js';
import { message, text, toolUse } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

describe('followMessage() of the client', () => {
  let client: AgentSessionClient;
  const service = useTurnService();
  before(async () => {
    client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key });
  });
  afterEach(() => service.model.reset());

  it('followMessage() of the client waits for the turn of a message that queues behind others', async () => {
    const { sessionId, gate } = await streaming(service);
    const other = client.run(sessionId, { content: 'Second', when_running: 'queue' });
    await client.sendMessage(sessionId, { content: 'Not this one', when_running: 'queue' });
    const queued = await client.sendMessage(sessionId, { content: 'Third', when_running: 'queue' });
    const seen: StreamEvent[] = [];
    const result = client.followMessage(sessionId, queued, { onEvent: (event) => void seen.push(event) });
    service.model.on(/Second/, 'Two.');
    service.model.on(/Not this one/, 'Half.');
    service.model.on(/Third/, 'Three.');
    gate.open();
    expect(await result).to.include({ turnId: queued.turn_id, status: 'completed', message: 'Three.' });
    expect((await result).events[0]).to.include({ id: queued.id, content: 'Third' });
    expect(new Set(seen.map(({ turn_id }) => turn_id))).to.deep.equal(new Set([queued.turn_id]));
    expect(await other).to.include({ message: 'Two.' });
    // The message is delivered by now: the receipt of a repeated request leads there too.
    expect((await client.followMessage(sessionId, queued)).events).to.deep.equal((await result).events);
  });

  it('followMessage() of the client answers the calls of the open turn that a message steers', async () => {
    service.model.reply(message(toolUse('get_weather', {}, { id: 'toolu_1' })), 'Soleggiato.');
    const sessionId = await service.session({
      thinking_enabled: false,
      tools: [{ type: 'custom', name: 'get_weather', description: 'Weather.', input_schema: { type: 'object' } }],
    });
    const turnId = await service.send(sessionId, 'Weather?');
    await service.model.request(0);
    const steering = await client.sendMessage(sessionId, { content: 'In Italian', when_running: 'steer' });
    const result = await client.followMessage(sessionId, steering, { tools: { get_weather: () => 'Sunny' } });
    expect(result).to.include({ turnId, status: 'completed', message: 'Soleggiato.' });
    expect(result.events.find(({ id }) => id === steering.id)).to.include({ delivered_at_step: 2 });
  });

  it('followMessage() of the client finds the turn of a message that steered and was left over, also while the queue is held', async () => {
    const { sessionId, turnId } = await streaming(service);
    const steering = await client.sendMessage(sessionId, { content: 'Left over', when_running: 'steer' });
    expect(steering).to.include({ state: 'steering', turn_id: turnId });
    const result = client.followMessage(sessionId, steering);
    await client.cancelTurn(sessionId);
    await service.ended(sessionId);
    expect((await client.getSession(sessionId)).queue).to.deep.equal({ length: 1, state: 'held' });
    service.model.on(/Left over/, [text('Now.')]);
    await client.releaseQueue(sessionId);
    const { events, message: said } = await result;
    expect(said).to.equal('Now.');
    expect(events[0]).to.include({ id: steering.id });
    expect(events[0]!.turn_id).not.to.equal(turnId);
  });

  it('followMessage() of the client fails when the message was withdrawn', async () => {
    const { sessionId, gate } = await streaming(service);
    const queued = await client.sendMessage(sessionId, { content: 'Never', when_running: 'queue' });
    const result = client.followMessage(sessionId, queued).catch((error: unknown) => error);
    await client.withdrawMessage(sessionId, queued.id);
    gate.open();
    const error = await result;
    expect(error).to.be.instanceOf(ApiError);
    expect((error as ApiError).is('event_not_found')).to.equal(true);
  });
});
