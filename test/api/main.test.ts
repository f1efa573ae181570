import { expect } from 'chai';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { startApi, type Api } from '../../api/main.js';
import { createLogger } from '../../src/platform/logger.js';
import { eventually } from '../support/eventually.js';
import { useService } from '../support/use.js';

describe('the end of an API process', () => {
  const service = useService();

  const open = async (api: Api): Promise<Socket> => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const head = (length: number): string =>
    `POST /v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nExpect: 100-continue\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  /** Sends the head of a request; resolves when the API has begun to handle it. */
  const begin = async (socket: Socket, length: number): Promise<void> => {
    socket.write(head(length));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).to.equal('HTTP/1.1 100 Continue\r\n\r\n');
  };
  const body = '{"model_id":"test-model"}';

  it('the end of an API process lets requests under way finish, and takes no new ones', async () => {
    const api = await service.anotherApi();
    const socket = await open(api);
    const idle = await open(api);
    await begin(socket, body.length);
    socket.write(body.slice(0, 5));
    const closed = api.close();
    await eventually('new connections are refused', () =>
      fetch(`${api.url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.write(body.slice(5));
    await once(socket, 'close');
    expect(answer).to.match(/^HTTP\/1.1 201 /);
    expect(answer).to.contain('Connection: close');
    await closed;
    idle.destroy();
  });

  it('the end of an API process answers the request of a connection that was opened just before, and ends those that stay silent', async () => {
    const api = await service.anotherApi();
    const [late, silent] = [await open(api), await open(api)];
    const ended = once(silent, 'close');
    const closed = api.close();
    let answer = '';
    late.on('data', (chunk) => (answer += chunk.toString()));
    late.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(late, 'close');
    expect(answer)
      .to.match(/^HTTP\/1.1 200 /)
      .and.contain('Connection: close');
    await Promise.all([ended, closed]);
  });

  it('the end of an API process ends a stream that opens while the process drains', async () => {
    const api = await startApi({ ...service.config, shutdownGraceSeconds: 20 }, createLogger('silent', 'test'));
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const lock = service.db.createQueryRunner();
    await lock.startTransaction();
    await lock.query('LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
    const opening = fetch(`${api.url}/v1/sessions/${session.id}/events/stream`, {
      headers: { Authorization: `Bearer ${service.key}` },
    });
    await eventually('the stream waits for its session', async () => {
      const [{ waits }] = await service.db.query<[{ waits: boolean }]>(
        `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'sessions'::regclass AND NOT granted) AS waits`,
      );
      return waits;
    });
    const closed = api.close();
    await lock.rollbackTransaction();
    await lock.release();
    const released = Date.now();
    expect(await (await opening).text()).to.contain('retry: 2000');
    await closed;
    expect(Date.now() - released).to.be.below(15_000);
  });

  it('the end of an API process closes connections after the grace period', async () => {
    const api = await startApi({ ...service.config, shutdownGraceSeconds: 0.3 }, createLogger('silent', 'test'));
    const socket = await open(api);
    socket.on('error', () => undefined);
    await begin(socket, body.length);
    const start = Date.now();
    await api.close();
    expect(Date.now() - start).to.be.within(250, 20_000);
    socket.destroy();
  });

  it('the end of an API process takes requests for SHUTDOWN_DELAY_SECONDS more, on connections that close, while it is not ready', async () => {
    const api = await startApi({ ...service.config, shutdownDelaySeconds: 4 }, createLogger('silent', 'test'));
    const ask = (path: string): Promise<Response> =>
      fetch(api.url + path, { headers: { Authorization: `Bearer ${service.key}` } });
    expect((await ask('/readyz')).status).to.equal(200);
    const closed = api.close();
    const ready = await ask('/readyz');
    expect(ready.status).to.equal(503);
    expect(await ready.json()).to.include({ api: 'drains', postgres: 'ok' });
    const answer = await ask('/v1/sessions');
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('connection')).to.equal('close');
    await closed;
    expect(await ask('/healthz').catch(() => null)).to.equal(null);
  });

  it('the end of an API process releases its resources when the port is taken', async () => {
    const port = Number(new URL(service.url).port);
    const fault: unknown = await startApi({ ...service.config, port }, createLogger('silent', 'test')).catch(
      (error: unknown) => error,
    );
    expect(fault).to.have.property('code', 'EADDRINUSE');
    const [{ n }] = await service.db.query<[{ n: number }]>(
      "SELECT count(*)::integer AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'api'",
    );
    expect(n).to.be.at.most(service.config.databasePoolSize);
  });
});
