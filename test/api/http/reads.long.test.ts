import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { ReadSlots, type Read } from '../../../api/http/core/read-slots.js';
import type { ServiceError } from '../../../src/platform/errors.js';
import type { ApiCall, ApiResponse } from '../../support/client.js';
import { sampleOf } from '../../support/metrics.js';
import { reachedLimit } from '../../support/rows.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { startService, type TestService } from '../../support/service.js';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';
import { useService } from '../../support/use.js';
import { closeServer, listen } from '../../support/listen.js';

const MIB = 1024 * 1024;

describe('reads under way', () => {
  let server: Server;
  let port: number;
  let slots: ReadSlots;
  /** What the server does with the responses that it gets, in order. */
  let respond: (res: ServerResponse) => void;
  before(async () => {
    server = createServer((_, res) => respond(res));
    ({ port } = await listen(server));
  });
  after(() => closeServer(server));

  /** A request whose response is in the server's hands, and its client. */
  const open = async (): Promise<{ res: ServerResponse; end: () => Promise<void>; drop: () => void }> => {
    const taken = new Promise<ServerResponse>((resolve) => (respond = resolve));
    const request = get({ port, agent: false });
    request.on('error', () => undefined);
    const res = await taken;
    const end = async (): Promise<void> => {
      const answered = once(request, 'response') as Promise<[IncomingMessage]>;
      const closed = once(res, 'close');
      res.end();
      (await answered)[0].resume();
      await closed;
    };
    return { res, end, drop: () => request.destroy() };
  };
  /** A read whose answer has this many bytes, none of them read yet. */
  const unread = async (project: string, bytes = 0) => {
    const opened = await open();
    const read = await slots.enter(project, opened.res);
    read.answer(bytes);
    return opened;
  };
  const refused = (entering: Promise<Read>): Promise<ServiceError> =>
    entering.then(
      () => expect.fail('was admitted'),
      (error: unknown) => error as ServiceError,
    );

  it('reads under way are at most 16 of a project; a further one waits for its turn, and is refused after a while', async () => {
    slots = new ReadSlots({ waitTimeoutMs: 300 });
    const opened = [];
    for (let number = 0; number < 16; number += 1) opened.push(await unread('one'));
    const { type, status, headers } = await refused(slots.enter('one', (await open()).res));
    expect([type, status, headers]).to.deep.equal(['too_many_requests', 429, { 'Retry-After': '1' }]);
    await unread('another');

    slots = new ReadSlots();
    const again = [];
    for (let number = 0; number < 16; number += 1) again.push(await unread('one'));
    const next = slots.enter('one', (await open()).res);
    await again[0]!.end();
    await next;
    reachedLimit('reads of a project at once: 16');
  });

  it('reads under way are admitted in the order of arrival, past those that gave up', async () => {
    slots = new ReadSlots({ maxReadsPerProject: 1 });
    const first = await unread('one');
    const order: number[] = [];
    const waiting = [];
    for (const number of [1, 2, 3]) {
      const { res, drop, end } = await open();
      const entered = slots.enter('one', res).then(
        () => order.push(number),
        () => order.push(-number),
      );
      waiting.push({ drop, end, entered });
    }
    waiting[0]!.drop();
    await waiting[0]!.entered;
    await first.end();
    await waiting[1]!.entered;
    await waiting[1]!.end();
    await waiting[2]!.entered;
    expect(order).to.deep.equal([-1, 2, 3]);
  });

  it('reads under way of one project are prepared two at a time', async () => {
    slots = new ReadSlots();
    const first = await slots.enter('one', (await open()).res);
    await slots.enter('one', (await open()).res);
    let isAdmitted = false;
    const third = slots.enter('one', (await open()).res).then(() => (isAdmitted = true));
    await slots.enter('another', (await open()).res);
    expect(isAdmitted).to.equal(false);
    first.answer(1);
    await third;
    reachedLimit('reads of a project prepared at once: 2');
  });

  it('reads under way that are slow refuse further ones as the service’s fault, many quick ones as their project’s', async () => {
    const outcomeOf = async (waiting: Promise<Read>): Promise<unknown[]> => {
      const { type, status, reason, headers } = await refused(waiting);
      return [type, status, reason, headers['Retry-After']];
    };
    const enter = async (): Promise<Read> => slots.enter('one', (await open()).res);
    // Two reads that Postgres does not answer.
    slots = new ReadSlots({ waitTimeoutMs: 300 });
    for (let number = 0; number < 2; number += 1) await enter();
    expect(await outcomeOf(enter())).to.deep.equal(['service_unavailable', 503, 'reads_slow', '5']);

    // Fifteen are answered while another one waits, where twelve would take 50 ms each.
    slots = new ReadSlots({ waitTimeoutMs: 300, slowReadMs: 50, maxReadsPerProject: 100 });
    const first = [await enter(), await enter()];
    const queued = [];
    for (let number = 0; number < 13; number += 1) queued.push((await open()).res);
    const quick = queued.map((res) => slots.enter('one', res).then((read) => read.answer(1)));
    const blocking = [(await open()).res, (await open()).res].map((res) => slots.enter('one', res));
    const last = outcomeOf(slots.enter('one', (await open()).res));
    for (const read of first) read.answer(1);
    await Promise.all([...quick, ...blocking]);
    expect(await last).to.deep.equal(['too_many_requests', 429, 'reads_many', '1']);
  });

  it('reads under way that are refused for memory are the project’s fault if it holds its half, else the service’s', async () => {
    slots = new ReadSlots({ waitTimeoutMs: 100 });
    await unread('one', 30 * MIB);
    expect(await refused(slots.enter('one', (await open()).res))).to.include({ status: 429, reason: 'reads_unread' });
    await unread('two', 30 * MIB);
    await unread('three', 0);
    expect(await refused(slots.enter('three', (await open()).res))).to.include({ status: 503, reason: 'reads_memory' });
  });

  it('reads under way of one project answer so many bytes a second, after the first ones', async () => {
    slots = new ReadSlots({ burstBytes: MIB, bytesPerSecond: 1, waitTimeoutMs: 100 });
    const { end } = await unread('one', 2 * MIB);
    await end();
    expect((await refused(slots.enter('one', (await open()).res))).type).to.equal('too_many_requests');
    await unread('another', MIB);

    slots = new ReadSlots({ burstBytes: MIB, bytesPerSecond: 100 * MIB });
    for (let number = 0; number < 3; number += 1) await unread('one', 2 * MIB);
    reachedLimit('answers to reads of a project: 16 MiB a second');
  });

  it('reads under way free their place when the client is gone, also before the answer', async () => {
    slots = new ReadSlots({ maxReadsPerProject: 1 });
    const { res, drop } = await open();
    const read = await slots.enter('one', res);
    const next = slots.enter('one', (await open()).res);
    drop();
    await next;
    read.answer(1e9);
    await unread('another');
  });

  it('reads under way of one project take half of the memory for unread answers; no project keeps another from reading', async () => {
    slots = new ReadSlots({ waitTimeoutMs: 300 });
    const held = [];
    // With 25 MiB unread the next one may bring 8 more, which would be more than half of 64.
    for (const bytes of [20 * MIB, 5 * MIB]) held.push(await unread('one', bytes));
    expect((await refused(slots.enter('one', (await open()).res))).type).to.equal('too_many_requests');
    await unread('two', 32 * MIB);
    // Nothing is left, and everybody still has one.
    await unread('three');
    expect((await refused(slots.enter('two', (await open()).res))).type).to.equal('too_many_requests');
    await held[1]!.end();
    await unread('one');
    reachedLimit('unread answers: 64 MiB');
  });
});

describe('lists whose clients do not read', () => {
  const service = useService();

  /** Tools of 1.9 MB with as many JSON values as a session may have. */
  const largeTools = (): object[] => {
    const schema = { type: 'object', anyOf: Array.from({ length: 790 }, () => ({ title: 'four and some more' })) };
    return Array.from({ length: 62 }, (_, n) => ({
      type: 'custom',
      name: `tool_${n}`,
      description: 'x'.repeat(4000),
      input_schema: schema,
    }));
  };

  /** Sends the request and stops reading with the first bytes of the answer. */
  const readStatus = async (key: string, path: string): Promise<{ socket: Socket; status: number }> => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return { socket, status: Number(chunk.toString('latin1', 9, 12)) };
  };

  it('lists whose clients do not read wait for themselves: other projects read, and memory stays small', async () => {
    const hostile = await service.newKey({ project: 'hostile' });
    await insertLargeSessions(service, service.as(hostile), largeTools(), 40);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 10);
    const lists = Array.from({ length: 40 }, () => readStatus(hostile, '/v1/sessions?limit=100'));
    await Promise.race(lists);
    const behindThem = service.as(hostile)('GET', '/v1/sessions');
    for (let times = 0; times < 10; times += 1) {
      expect((await service.api('GET', '/v1/sessions')).status).to.equal(200);
    }
    const answers = await Promise.all(lists);
    clearInterval(watch);
    expect((await behindThem).body.error.type).to.equal('too_many_requests');
    for (const { socket } of answers) socket.destroy();
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).to.deep.equal(new Set([200, 429]));
    expect(statuses.filter((status) => status === 200).length).to.be.within(3, 16);
    expect(most).to.be.lessThan(200 * MIB);
  });
});

/** Creates one session and copies its row. */
async function insertLargeSessions(service: TestService, api: ApiCall, tools: object[], count: number): Promise<void> {
  const first = await api('POST', '/v1/sessions', { model_id: 'test-model', tools });
  expect(first.status, JSON.stringify(first.body)).to.equal(201);
  await service.db.query(
    `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata, tools)
     SELECT id || n, project_id, model_id, thinking_enabled, mcp_servers, metadata, tools
     FROM sessions, generate_series(2, $2) AS n WHERE id = $1`,
    [first.body.id, count],
  );
}

describe('reads that Postgres does not answer', () => {
  let postgres: TestPostgres;
  let proxy: TcpProxy;
  let service: TestService;
  before(async () => {
    postgres = await startPostgres();
    const url = new URL(postgres.url);
    proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(proxy.port);
    service = await startService({ databaseUrl: url.href });
  });
  after(async () => {
    await service.close();
    await proxy.close();
    await postgres.stop();
  });

  it('reads that Postgres does not answer make further ones of the project 503, which is counted by its reason', async () => {
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const get = (): Promise<ApiResponse> => service.api('GET', `/v1/sessions/${body.id}`);
    const refusals = async (): Promise<number> =>
      (await sampleOf(service, 'requests_refused_total{status="503",reason="reads_slow"}')) || 0;
    const before = await refusals();
    // The pool then has the connections that the reads need.
    await Promise.all(Array.from({ length: 12 }, get));
    proxy.hold();
    const reads = [get(), get(), get()];
    const { status, headers, body: answer } = await Promise.race(reads);
    proxy.release();
    expect([status, answer.error.type]).to.deep.equal([503, 'service_unavailable']);
    expect([headers.get('retry-after'), headers.get('x-should-retry')]).to.deep.equal(['5', 'true']);
    expect((await Promise.all(reads)).map((one) => one.status).sort()).to.deep.equal([200, 200, 503]);
    expect((await refusals()) - before).to.equal(1);
  });
});
