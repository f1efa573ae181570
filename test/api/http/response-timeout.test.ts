import { expect } from 'chai';
import Koa from 'koa';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { responseTimeout } from '../../../api/http/core/response-timeout.js';

/** More than the sockets of both sides hold. */
const BODY = 'x'.repeat(30 * 1024 * 1024);
const TIMEOUT_MS = 300;

describe('the reader of a response', () => {
  let server: Server;
  const responses: ServerResponse[] = [];
  before(async () => {
    const app = new Koa();
    app.use(responseTimeout(TIMEOUT_MS));
    app.use((ctx) => {
      responses.push(ctx.res);
      ctx.body = BODY;
    });
    app.silent = true;
    const answer = app.callback();
    server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  /** A response of which nothing is read yet. */
  const openPaused = async (): Promise<IncomingMessage> => {
    const call = request({ port: (server.address() as AddressInfo).port, agent: false });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.pause();
    response.on('error', () => undefined);
    return response;
  };

  it('is closed when the client reads nothing', async () => {
    const response = await openPaused();
    await once(responses.at(-1)!, 'close');
    response.resume();
    await new Promise((resolve) => response.once('close', resolve));
    expect(response.complete).to.equal(false);
  });

  it('is not cut off while it takes a little now and then', async () => {
    const response = await openPaused();
    let received = 0;
    response.on('data', (chunk: Buffer) => {
      received += chunk.length;
      response.pause();
      setTimeout(() => response.resume(), 1);
    });
    response.resume();
    await once(response, 'end');
    expect(received).to.equal(BODY.length);
  });
});
