import { expect } from 'chai';
import { AgentSessionClient, ApiError, type StreamEvent } from '../../client/src/index.js';
import { SseParser, type SseItem } from '../../client/src/sse.js';
import { eventually } from '../support/eventually.js';
import { Gate, text, wait } from '../support/scripted-model.js';
import { useFaultyProxy, useTurnService } from '../support/use.js';

const WORDS = Array.from({ length: 40 }, (_, i) => `word${i} `);
const SENTENCE = WORDS.join('');

describe('stream() of the client', () => {
  let client: AgentSessionClient;
  const service = useTurnService();
  const proxy = useFaultyProxy(() => service.url);
  before(async () => {
    client = new AgentSessionClient({ baseUrl: proxy.url, apiKey: service.key });
    service.model.on(/Count/, text(WORDS, { every: 50 }));
  });
  beforeEach(() => {
    proxy.requests.length = 0;
    proxy.faults.length = 0;
  });

  const read = async (stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> => {
    const events: StreamEvent[] = [];
    for await (const event of stream) events.push(event);
    return events;
  };
  /** A turn that streams the sentence and is held open before its last word, so that its deltas can be read until then. */
  const held = async (): Promise<{ id: string; rest: Gate }> => {
    const [id, rest] = [await service.session(), new Gate()];
    const words = text(WORDS, { every: 50, before: { [WORDS.length - 1]: wait(rest) } });
    service.model.on(new RegExp(`Go slowly ${id}`), words);
    await service.send(id, `Go slowly ${id}`);
    return { id, rest };
  };
  const streamOpens = (): Promise<void> =>
    eventually('the stream opens', () => proxy.requests.some(({ path }) => path.endsWith('/stream')));
  const isBeforeRest = (event: StreamEvent): boolean =>
    event.type === 'agent.message.delta' && event.content.endsWith(WORDS.at(-2)!);
  const isWhole = async (events: StreamEvent[], sessionId: string): Promise<void> => {
    const deltas = events.flatMap((event) => (event.type === 'agent.message.delta' ? [event.content] : []));
    expect(deltas.join('')).to.equal(SENTENCE);
    expect(events.filter((event) => 'id' in event)).to.deep.equal(await service.history(sessionId));
  };

  it('stream() of the client continues after cut connections, and after responses of a proxy that ask to wait', async () => {
    const { id, rest } = await held();
    proxy.faults.push(
      { cut: 900 },
      { answer: { status: 502, body: 'Bad Gateway' } },
      { cut: 'before the answer' },
      { cut: 700 },
    );
    const events: StreamEvent[] = [];
    for await (const event of client.stream(id)) {
      events.push(event);
      if (isBeforeRest(event)) rest.open();
    }
    await isWhole(events, id);
    expect(proxy.requests.length).to.be.at.least(5);
    expect(proxy.requests.at(-1)!.headers['last-event-id']).to.match(/^turn_/);
  });

  it('stream() of the client goes on elsewhere when its API process drains', async () => {
    const other = await service.anotherApi();
    const behind = new AgentSessionClient({
      baseUrl: service.url,
      apiKey: service.key,
      fetch: (input, init) => fetch((input as string).replace(service.url, drained ? service.url : other.url), init),
    });
    let drained = false;
    const { id, rest } = await held();
    const events: StreamEvent[] = [];
    for await (const event of behind.stream(id)) {
      events.push(event);
      if (isBeforeRest(event)) rest.open();
      if (events.length !== 10) continue;
      drained = true;
      void other.close();
    }
    await isWhole(events, id);
  });

  it('stream() of the client loses no event for a slow reader', async () => {
    const id = await service.session();
    await service.send(id, 'Count');
    const events: StreamEvent[] = [];
    for await (const event of client.stream(id)) {
      events.push(event);
      if (events.length % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 400));
    }
    await isWhole(events, id);
  });

  it('stream() of the client comes back after a pause of the reader in which the connection broke, however long it was', async () => {
    const { id, rest } = await held();
    proxy.faults.push({ cut: 900 });
    const events: StreamEvent[] = [];
    for await (const event of client.stream(id, { reconnectForMs: 500 })) {
      events.push(event);
      if (events.length === 1) await new Promise((resolve) => setTimeout(resolve, 1500));
      if (isBeforeRest(event)) rest.open();
    }
    await isWhole(events, id);
    expect(proxy.requests.filter(({ path }) => path.endsWith('/stream'))).to.have.length(2);
  });

  it('stream() of the client can be left and taken up by another one', async () => {
    const id = await service.session();
    await service.send(id, 'Count');
    const first = client.stream(id);
    const events: StreamEvent[] = [];
    for await (const event of first) {
      events.push(event);
      if (events.length === 7) break;
    }
    const second = client.stream(id, { lastEventId: first.lastEventId });
    events.push(...(await read(second)));
    await isWhole(events, id);
    expect(await read(client.stream(id, { lastEventId: second.lastEventId }))).to.deep.equal([]);
  });

  it('stream() of the client waits for the first turn of a session', async () => {
    const id = await service.session();
    const reading = read(client.stream(id));
    await streamOpens();
    await service.send(id, 'Count');
    await isWhole(await reading, id);
  });

  it('stream() of the client ends with the signal, its reason thrown', async () => {
    const leave = new AbortController();
    const id = await service.session();
    const reading = read(client.stream(id, { signal: leave.signal })).catch((error: unknown) => error);
    const reason = new Error('enough');
    await streamOpens();
    leave.abort(reason);
    expect(await reading).to.equal(reason);
  });

  it('stream() of the client throws when the session is deleted, or the service does not answer for too long', async () => {
    const gone = await read(client.stream('ses_none')).catch((error: unknown) => error);
    expect(gone).to.be.instanceOf(ApiError).and.include({ type: 'session_not_found' });
    const nowhere = new AgentSessionClient({ baseUrl: 'http://127.0.0.1:9', apiKey: 'none' });
    const away = await read(nowhere.stream('ses_x', { reconnectForMs: -1 })).catch((error: unknown) => error);
    expect(away).to.include({ name: 'ConnectionError' });
  });
});

describe('parsing of a stream by the client', () => {
  const parsed = (bytes: Buffer, size: number): SseItem[] => {
    const parser = new SseParser();
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    );
    return chunks.flatMap((chunk) => [...parser.push(chunk)]);
  };

  it('parsing of a stream by the client is the same however it is cut, with every kind of line end', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const lines = [
        'retry: 2000',
        ': ping',
        '',
        'id: t:1',
        'event: x',
        'data: é😀',
        'data:two',
        '',
        'data: 3',
        '',
        ': end',
      ];
      for (let size = 1; size < 20; size += 1) {
        expect(parsed(Buffer.from(lines.join(end)), size), `${JSON.stringify(end)} ${size}`).to.deep.equal([
          { kind: 'retry', ms: 2000 },
          { kind: 'ping' },
          { kind: 'frame', id: 't:1', data: 'é😀\ntwo' },
          { kind: 'frame', id: 't:1', data: '3' },
        ]);
      }
    }
  });

  it('parsing of a stream by the client may be one frame of megabytes in small pieces', () => {
    const text = 'x'.repeat(16_000_000);
    expect(parsed(Buffer.from(`id: t:1\ndata: ${text}\n\n`), 500)).to.deep.equal([
      { kind: 'frame', id: 't:1', data: text },
    ]);
  });
});
