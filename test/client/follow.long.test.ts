import { expect } from 'chai';
import { AgentSessionClient, ApiError, isTerminal, type StreamEvent } from '../../client/src/index.js';
import { eventually } from '../support/eventually.js';
import { text } from '../support/scripted-model.js';
import { useFaultyProxy, useTurnService } from '../support/use.js';

const WORDS = Array.from({ length: 20 }, (_, i) => `word${i} `);

describe('follow() of the client', () => {
  let client: AgentSessionClient;
  const service = useTurnService();
  const proxy = useFaultyProxy(() => service.url);
  before(() => {
    client = new AgentSessionClient({ baseUrl: proxy.url, apiKey: service.key });
    service.model.on(/Count/, text(WORDS, { every: 20 }));
  });
  beforeEach(() => {
    proxy.requests.length = 0;
    proxy.faults.length = 0;
  });

  const stored = (events: StreamEvent[]): StreamEvent[] => events.filter((event) => 'id' in event);
  const connected = (): Promise<void> =>
    eventually('the stream opens', () => proxy.requests.some(({ path }) => path.includes('/stream?')));
  const turn = async (id: string): Promise<void> => {
    await service.send(id, 'Hello');
    await service.ended(id);
  };

  it('follow() of the client goes on through the turns of a queue, after cuts and answers of a proxy, until the session is deleted', async () => {
    const id = await service.session();
    proxy.faults.push({ cut: 900 }, { answer: { status: 502, body: 'Bad Gateway' } });
    for (let n = 0; n < 3; n += 1) await service.send(id, `Count ${n}`, { when_running: 'queue' });
    const events: StreamEvent[] = [];
    let history: StreamEvent[] = [];
    for await (const event of client.follow(id)) {
      events.push(event);
      if (events.filter(isTerminal).length < 3 || history.length > 0) continue;
      history = await service.history(id);
      expect((await service.api('DELETE', `/v1/sessions/${id}`)).status).to.equal(204);
    }
    expect(stored(events)).to.deep.equal(history);
    const last = proxy.requests.at(-1)!;
    expect(last.path).to.contain('follow=session');
    expect(last.headers['last-event-id']).to.match(/^turn_/);
  });

  it('follow() of the client begins after an event of the history, or after a frame', async () => {
    const id = await service.session();
    await turn(id);
    await turn(id);
    const history = await service.history(id);
    const leave = new AbortController();
    const first = client.follow(id, { after: history[1].id, signal: leave.signal });
    const events: StreamEvent[] = [];
    for await (const event of first) if (events.push(event) === 2) break;
    const second = client.follow(id, { lastEventId: first.lastEventId, signal: leave.signal });
    for await (const event of second) if (events.push(event) === 4) break;
    expect(events).to.deep.equal(history.slice(2));
    const reason = new Error('enough');
    const reading = (async () => {
      for await (const event of client.follow(id, { after: history[5].id, signal: leave.signal })) events.push(event);
    })().catch((error: unknown) => error);
    await connected();
    leave.abort(reason);
    expect(await reading).to.equal(reason);
    expect(events).to.have.length(4);
  });

  it('follow() of the client throws where there is nothing to follow', async () => {
    const errorOf = async (id: string, after?: string): Promise<unknown> => {
      try {
        for await (const _ of client.follow(id, after === undefined ? {} : { after })) return null;
      } catch (error) {
        return error;
      }
      return null;
    };
    expect(await errorOf('ses_none'))
      .to.be.instanceOf(ApiError)
      .and.include({ type: 'session_not_found' });
    const gone = await errorOf(await service.session(), 'evt_none');
    expect(gone).to.be.instanceOf(ApiError).and.include({ type: 'event_not_found' });
  });
});
