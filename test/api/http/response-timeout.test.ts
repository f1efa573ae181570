import { expect } from 'chai';
import Koa from 'koa';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { responseTimeout } from '../../../api/http/core/response-timeout.js';
import { sendBytes } from '../../../api/http/core/send-bytes.js';
import { closeServer, listen } from '../../support/listen.js';

/** More than the sockets of both sides hold. */
const BODY = Buffer.alloc(30 * 1024 * 1024, 'x');
const TIMEOUTS = { answerMs: 1_000, downloadMs: 1_000_000, checkMs: 50 };

describe('the reader of a response', () => {
  let server: Server;
  let port: number;
  const responses: ServerResponse[] = [];
  before(async () => {
    const app = new Koa();
    app.use(responseTimeout(TIMEOUTS));
    app.use((ctx) => {
      responses.push(ctx.res);
      ctx.state.isDownload = ctx.path === '/download';
      sendBytes(ctx, BODY);
    });
    app.silent = true;
    const answer = app.callback();
    server = createServer((request, response) => void answer(request, response));
    ({ port } = await listen(server));
  });
  after(() => closeServer(server));

  /** A response of which nothing is read yet. */
  const openPaused = async (path = '/'): Promise<IncomingMessage> => {
    const call = request({ port, agent: false, path });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.pause();
    response.on('error', () => undefined);
    return response;
  };

  it('the reader of a response is closed when the client reads nothing', async () => {
    const response = await openPaused();
    await once(responses.at(-1)!, 'close');
    response.resume();
    await new Promise((resolve) => response.once('close', resolve));
    expect(response.complete).to.equal(false);
  });

  it('the reader of a response may pause a download for longer', async () => {
    const download = await openPaused('/download');
    const unread = responses.at(-1)!;
    // Opened later, so its end shows that the time for answers is over.
    await openPaused();
    await once(responses.at(-1)!, 'close');
    expect(unread.destroyed).to.equal(false);
    download.resume();
    await once(download, 'end');
  });

  it('the reader of a response is not cut off while it takes a little now and then', async () => {
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
