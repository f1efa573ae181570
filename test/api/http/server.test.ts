import { expect } from 'chai';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
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

  it('cuts headers that do not come to their end, with request_timeout', async () => {
    const url = await start({ headersTimeout: 200, requestTimeout: 1000 });
    const answer = await rawHttp(url, 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    expect(answer).to.match(/^HTTP\/1.1 408 /);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).to.have.nested.property(
      'error.type',
      'request_timeout',
    );
  });

  it('does not break into an answer that has begun', async () => {
    server = createHttpServer((_, res) => void res.write('begun'));
    const { port } = await listen(server, '127.0.0.1', 0);
    const answer = await rawHttp(
      `http://127.0.0.1:${port}`,
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n',
    );
    expect(answer.match(/HTTP\/1\.1/g) ?? []).to.have.length.at.most(1);
  });

  it('takes no more connections than it can hold', async () => {
    const url = await start({ maxConnections: 1 });
    const held = connect(Number(new URL(url).port), '127.0.0.1');
    await once(held, 'connect');
    const refused = await rawHttp(url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n').catch(() => '');
    expect(refused).to.equal('');
    held.destroy();
  });
});
