import { expect } from 'chai';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createHttpServer, listen } from '../../../api/http/core/server.js';
import { rawHttp } from '../../support/raw-http.js';

describe('limits of the HTTP server', () => {
  let server: Server;
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  const start = async (limits: Parameters<typeof createHttpServer>[1]): Promise<string> => {
    server = createHttpServer((_, res) => res.end('hello'), { connectionsCheckingInterval: 50, ...limits });
    const { port } = await listen(server, '127.0.0.1', 0);
    return `http://127.0.0.1:${port}`;
  };

  it('limits of the HTTP server cuts headers that do not come to their end, with request_timeout', async () => {
    const url = await start({ headersTimeout: 200, requestTimeout: 1000 });
    const answer = await rawHttp(url, 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    expect(answer).to.match(/^HTTP\/1.1 408 /);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).to.have.nested.property(
      'error.type',
      'request_timeout',
    );
  });

  it('limits of the HTTP server does not break into an answer that has begun', async () => {
    server = createHttpServer((_, res) => void res.write('begun'));
    const { port } = await listen(server, '127.0.0.1', 0);
    const answer = await rawHttp(
      `http://127.0.0.1:${port}`,
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n',
    );
    expect(answer.match(/HTTP\/1\.1/g) ?? []).to.have.length.at.most(1);
  });

  it('limits of the HTTP server takes no more connections than it can hold', async () => {
    const url = await start({ maxConnections: 1 });
    const held = connect(Number(new URL(url).port), '127.0.0.1');
    await once(held, 'connect');
    const refused = await rawHttp(url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n').catch(() => '');
    expect(refused).to.equal('');
    held.destroy();
  });

  it('limits of the HTTP server closes the oldest idle connections, so that idle clients do not block others', async () => {
    let finish = (): void => undefined;
    server = createHttpServer(
      (req, res) => {
        if (req.url === '/slow') finish = () => res.end('late');
        else res.end('hello');
      },
      { maxWithIdle: 4, maxConnections: 6 },
    );
    const { port } = await listen(server, '127.0.0.1', 0);
    const open = async (): Promise<{ socket: Socket; closed: Promise<unknown> }> => {
      const socket = connect(port, '127.0.0.1');
      const closed = once(socket.resume(), 'close');
      await once(socket, 'connect');
      return { socket, closed };
    };
    const busy = await open();
    const answer = once(busy.socket, 'data');
    busy.socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(server, 'request');
    const used = await open();
    const idle = [await open(), await open()];
    // Its request makes it the youngest.
    used.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(used.socket, 'data');

    const later = [];
    for (const { closed } of idle) {
      const { socket } = await open();
      await closed;
      const answered = once(socket, 'data');
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(String((await answered)[0])).to.match(/^HTTP\/1.1 200 /);
      later.push(socket);
    }
    finish();
    expect(String((await answer)[0])).to.contain('late');
    expect(used.socket.destroyed).to.equal(false);
    for (const socket of [busy.socket, used.socket, ...later]) socket.destroy();
  });
});
