import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGzip } from 'node:zlib';
import { expect } from 'chai';
import type { BaseEvent } from '@ag-ui/client';
import { AgentSessionAgent } from '../../client/src/ag-ui/index.js';
import { AgentSessionTransport } from '../../client/src/ai-sdk/index.js';
import { AgentSessionClient, ApiError, ConnectionError, type Retry } from '../../client/src/index.js';

const PAGE = '<!doctype html><title>Sign in</title>';
const HTML = { 'content-type': 'text/html; charset=utf-8' };
const SSE = { 'content-type': 'text/event-stream' };
const TURN = 'turn_1';
const MESSAGE = { id: 'evt_1', type: 'user.message', turn_id: TURN, created_at: '', content: 'Go' };
const END = {
  ...{ id: 'evt_2', type: 'turn.completed', turn_id: TURN, created_at: '', stop_reason: 'end_turn' },
  ...{ usage: null, usage_details: null, timing: { total_ms: 1 } },
};
const frames = (...events: { id: string; type: string }[]): string =>
  events.map((event) => `event: ${event.type}\nid: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const WHOLE = `retry: 1\n: ping\n\n${frames(MESSAGE, END)}`;

type Answer = (res: ServerResponse, req: IncomingMessage) => void;
const page: Answer = (res) => res.writeHead(200, HTML).end(PAGE);
const empty: Answer = (res) => res.writeHead(200, SSE).end();

/** What stands between the client and the service: it answers in place of the service. */
describe('the client behind a proxy', () => {
  let server: Server;
  let baseUrl = '';
  /** The answers to requests of streams, in order; the last one again and again. */
  let streams: Answer[] = [];
  let asked = 0;
  /** The answer to every other request. */
  let operation: Answer = page;

  before(async () => {
    server = createServer((req, res) => {
      if (!req.url!.includes('/events/stream')) return operation(res, req);
      const answer = streams[Math.min(asked, streams.length - 1)]!;
      asked += 1;
      return answer(res, req);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked = 0;
    operation = page;
  });

  const clientOf = (onRetry: (retry: Retry) => void = () => undefined): AgentSessionClient =>
    new AgentSessionClient({ baseUrl, apiKey: 'sk', onRetry });
  const read = async (events: AsyncIterable<{ type: string }>): Promise<string[]> => {
    const types: string[] = [];
    for await (const { type } of events) types.push(type);
    return types;
  };
  const failureOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      (value) => `no failure: ${JSON.stringify(value)}`,
      (error: unknown) => error,
    );
  const expectRefusal = (failure: unknown, ...words: string[]): void => {
    expect(failure).to.be.instanceOf(ApiError);
    expect(failure).to.include({ type: 'unknown', retryable: false });
    for (const word of words) expect((failure as Error).message).to.include(word);
  };
  /** A message was accepted; only the streams are the proxy's. */
  const accepts: Answer = (res) =>
    res.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(MESSAGE));

  it('the client behind a proxy ends at once at a stream that is a page, and says its status and content type', async () => {
    streams = [page];
    const client = clientOf();
    for (const events of [client.stream('ses_1'), client.follow('ses_1'), client.follow('ses_1', { after: 'evt_1' })]) {
      asked = 0;
      expectRefusal(await failureOf(read(events)), '200', 'text/html', 'an event stream');
      expect(asked).to.equal(1);
    }
    expectRefusal(await failureOf(client.followTurn('ses_1', TURN)), 'text/html');
    operation = accepts;
    expectRefusal(await failureOf(client.run('ses_1', { content: 'Go' })), 'text/html');
  });

  it('the client behind a proxy takes no other type for a stream, and its own type however it is written', async () => {
    for (const type of ['application/json', 'text/plain', 'text/event-stream-x', 'application/text/event-stream', '']) {
      streams = [(res) => res.writeHead(200, type === '' ? {} : { 'content-type': type }).end(WHOLE)];
      const failure = await failureOf(read(clientOf().stream('ses_1')));
      expectRefusal(failure, type === '' ? 'no content type' : `content type ${type}`);
    }
    for (const type of ['Text/Event-Stream; Charset=UTF-8', 'TEXT/EVENT-STREAM', 'text/event-stream ;charset=utf-8']) {
      streams = [(res) => res.writeHead(200, { 'content-type': type }).end(WHOLE)];
      expect(await read(clientOf().stream('ses_1')), type).to.deep.equal(['user.message', 'turn.completed']);
    }
  });

  it('the client behind a proxy ends its iterator at 204, and a turn that was followed does not end without its end', async () => {
    streams = [(res) => res.writeHead(204).end()];
    expect(await read(clientOf().stream('ses_1'))).to.deep.equal([]);
    expect(await read(clientOf().follow('ses_1'))).to.deep.equal([]);
    expect(asked).to.equal(2);
    const failure = await failureOf(clientOf().followTurn('ses_1', TURN));
    expect(failure).to.be.instanceOf(ConnectionError).with.property('message').that.includes(TURN);
  });

  it('the client behind a proxy gives up after reconnectForMs when connections bring no event and no ping', async () => {
    const garbage: Answer = (res) => res.writeHead(200, SSE).end('retry: 1\n\n<html>\n\nfield: x\n\n');
    for (const answer of [empty, garbage]) {
      streams = [answer];
      asked = 0;
      const failure = await failureOf(read(clientOf().stream('ses_1', { reconnectForMs: 0 })));
      expect(failure).to.be.instanceOf(ConnectionError).with.property('message').that.includes('first event or ping');
    }
    // A ping is a sign of the service: the time begins anew, and the next connection has the turn.
    streams = [
      (res) => res.writeHead(200, SSE).end('retry: 1\n: ping\n\n'),
      (res) => res.writeHead(200, SSE).end(WHOLE),
    ];
    asked = 0;
    expect(await read(clientOf().stream('ses_1', { reconnectForMs: 0 }))).to.include('turn.completed');
    expect(asked).to.equal(2);
  });

  it('the client behind a proxy reports connections that bring nothing, and goes on when the service is back', async () => {
    const retries: string[] = [];
    const bad: Answer = (res) => res.writeHead(502, HTML).end(PAGE);
    const first: Answer = (res) => res.writeHead(200, SSE).end('retry: 1\n\n');
    streams = [first, bad, empty, (res) => res.writeHead(200, SSE).end(WHOLE)];
    const client = clientOf(({ error, attempt }) => retries.push(`${attempt} ${error.message.slice(0, 40)}`));
    expect(await read(client.stream('ses_1'))).to.deep.equal(['user.message', 'turn.completed']);
    expect(retries.map((text) => text.split(' ')[0])).to.deep.equal(['1', '2', '3']);
  });

  it('the client behind a proxy reads a stream that comes compressed, and one whose first byte comes late', async () => {
    streams = [
      (res) => {
        res.writeHead(200, { ...SSE, 'content-encoding': 'gzip' });
        const gzip = createGzip();
        gzip.pipe(res);
        gzip.end(WHOLE);
      },
    ];
    expect(await read(clientOf().stream('ses_1'))).to.deep.equal(['user.message', 'turn.completed']);
    streams = [
      (res) => {
        const [half, rest] = [WHOLE.slice(0, 70), WHOLE.slice(70)];
        res.writeHead(200, SSE);
        res.flushHeaders();
        setImmediate(() => res.write(half, () => setImmediate(() => res.end(rest))));
      },
    ];
    expect(await read(clientOf().stream('ses_1'))).to.deep.equal(['user.message', 'turn.completed']);
  });

  it('the client behind a proxy says of each operation what came in place of JSON, and where a redirect led', async () => {
    const client = clientOf();
    expectRefusal(await failureOf(client.listSessions()), '200', 'text/html', 'JSON');
    expectRefusal(await failureOf(read(client.eachEvent('ses_1'))), 'text/html');
    expectRefusal(await failureOf(client.createSession({ model_id: 'm' })), 'text/html');
    expectRefusal(await failureOf(client.deleteSession('ses_1')), '200', 'text/html', '204');
    operation = (res) => res.writeHead(200).end();
    expectRefusal(await failureOf(client.getSession('ses_1')), 'no content type');
    operation = (res, { url }) =>
      url!.startsWith('/sign-in')
        ? page(res, {} as IncomingMessage)
        : res.writeHead(302, { location: '/sign-in?state=secret' }).end();
    const failure = await failureOf(client.getSession('ses_1'));
    expectRefusal(failure, `after a redirect to ${baseUrl}/sign-in,`);
    expect((failure as Error).message).to.not.include('secret');
    streams = [(res) => res.writeHead(302, { location: '/sign-in' }).end()];
    expectRefusal(await failureOf(read(client.stream('ses_1'))), 'after a redirect to', 'text/html');
  });

  it('the client behind a proxy tries again when JSON was cut off, and takes JSON with another content type', async () => {
    let requests = 0;
    operation = (res) => {
      requests += 1;
      const json = { 'content-type': 'application/json' };
      if (requests === 1) res.writeHead(200, json).end('{"items":[');
      else
        res
          .writeHead(200, requests === 2 ? json : { 'content-type': 'text/plain' })
          .end(requests === 2 ? '' : '{"items":[]}');
    };
    expect(await clientOf().listSessions()).to.deep.equal({ items: [] });
    expect(requests).to.equal(3);
  });

  it('the client behind a proxy gives a chat of the AI SDK and an agent of AG-UI the same error', async () => {
    streams = [page];
    operation = accepts;
    const transport = new AgentSessionTransport({ client: clientOf() });
    const chunks = transport.sendMessages({
      trigger: 'submit-message',
      chatId: 'ses_1',
      messageId: undefined,
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go' }] }],
      abortSignal: undefined,
    });
    const shown = async (): Promise<unknown> => {
      const texts: unknown[] = [];
      for await (const chunk of (await chunks) as unknown as AsyncIterable<unknown>) texts.push(chunk);
      return texts;
    };
    const ofChat = await failureOf(shown());
    expect(JSON.stringify(ofChat instanceof Error ? ofChat.message : ofChat)).to.include('text/html');

    const agent = new AgentSessionAgent({ client: clientOf(), threadId: 'ses_1' });
    agent.addMessage({ id: 'm1', role: 'user', content: 'Go' });
    const events: BaseEvent[] = [];
    const ofAgent = await failureOf(agent.runAgent({}, { onEvent: ({ event }) => void events.push(event) }));
    expect(`${String(ofAgent)} ${JSON.stringify(events)}`).to.include('text/html');
  });
});
