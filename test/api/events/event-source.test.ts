import { expect } from 'chai';
import { EventSource } from 'eventsource';
import { message, text, thinking, wait } from '../../support/scripted-model.js';
import type { TurnService } from '../../support/turns.js';
import { useTurnService } from '../../support/use.js';

/** A client that is not ours: the EventSource of browsers. */
describe('a stream read by EventSource', () => {
  const service = useTurnService();

  it('a stream read by EventSource has the deltas and the stored events of a turn, which the next turn builds on', async () => {
    const { model } = service;
    // The text comes when the stream is open: what is complete by then arrives without its deltas.
    const isWatched = model.gate();
    const answer = text('Hello there, friend.', { before: { 0: wait(isWatched) } });
    model.on(/Say hello/, message([thinking('A greeting.'), answer]));
    const sessionId = await service.session();

    const turnId = await service.send(sessionId, 'Say hello');
    const events = await watch(service, sessionId, () => isWatched.open());
    expect(events.at(-1)).to.include({ type: 'turn.completed', turn_id: turnId, stop_reason: 'end_turn' });
    const stored = events.filter((event) => !event.type.endsWith('.delta'));
    expect(stored).to.deep.equal(await service.history(sessionId));
    expect(stored.map((event) => event.type)).to.deep.equal([
      'user.message',
      'agent.thinking',
      'agent.message',
      'turn.completed',
    ]);
    const deltas = events.filter((event) => event.type === 'agent.message.delta');
    expect(deltas.map((event) => event.content).join('')).to.equal('Hello there, friend.');

    await service.send(sessionId, 'And again');
    await service.ended(sessionId);
    const { body: request } = model.requests.at(-1)!;
    const said = JSON.stringify(request.messages);
    expect(said).to.include('Say hello').and.include('Hello there, friend.').and.include('And again');
  });
});

// oxlint-disable-next-line typescript/no-explicit-any -- events of many types
function watch(service: TurnService, sessionId: string, onEvent: () => void): Promise<any[]> {
  // oxlint-disable-next-line typescript/no-explicit-any -- events of many types
  const events: any[] = [];
  const source = new EventSource(`${service.url}/v1/sessions/${sessionId}/events/stream`, {
    fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, Authorization: `Bearer ${service.key}` } }),
  });
  const types = [
    'user.message',
    'agent.thinking',
    'agent.thinking.delta',
    'agent.message',
    'agent.message.delta',
    'turn.completed',
  ];
  return new Promise((resolve, reject) => {
    source.onerror = (error) => reject(new Error(String(error.message)));
    for (const type of types) {
      source.addEventListener(type, ({ data }) => {
        events.push(JSON.parse(data as string));
        onEvent();
        if (type !== 'turn.completed') return;
        source.close();
        resolve(events);
      });
    }
  });
}
