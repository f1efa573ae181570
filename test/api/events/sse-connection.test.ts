import { expect } from 'chai';
import type Koa from 'koa';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { SseConnection } from '../../../api/events/sse-connection.js';

/** More than the sockets of both sides hold. */
const LARGE = Buffer.alloc(30 * 1024 * 1024, 'x');

/** contract.md §3 "Slow reader"; the times are given to `tick`. */
describe('a reader of an event stream that has stopped reading', () => {
  let server: Server;
  let res: ServerResponse;
  before(async () => {
    server = createServer((_, response) => (res = response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  /** A connection whose reader takes nothing, with the socket full. */
  const openStalled = async (): Promise<{ connection: SseConnection; response: IncomingMessage }> => {
    const call = request({ port: (server.address() as AddressInfo).port, agent: false });
    call.end();
    await once(server, 'request');
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const connection = await SseConnection.open({ res } as Koa.Context, 2000, gone.signal, () => Promise.resolve(0));
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.pause();
    response.on('error', () => undefined);
    void connection.send(LARGE);
    for (let before = -1, same = 0; same < 10;) {
      await setTimeout(20);
      const written = res.socket!.bytesWritten;
      same = written === before && res.writableNeedDrain ? same + 1 : 0;
      before = written;
    }
    return { connection, response };
  };
  const tick = async (connection: SseConnection, ms: number): Promise<void> => {
    connection.tick(Date.now() + ms);
    await setImmediate();
  };

  it('is closed when its socket accepted no data for 10 s, and not before', async () => {
    const { connection } = await openStalled();
    await tick(connection, 5_000);
    expect(res.destroyed).to.equal(false);
    await tick(connection, 10_000);
    expect(res.destroyed).to.equal(true);
  });

  it('is not closed when it has gone on reading meanwhile', async () => {
    const { connection, response } = await openStalled();
    const resumed = Date.now();
    response.resume();
    await once(response, 'data');
    response.pause();
    for (let taken = 0; taken < 10 * 1024 * 1024;) {
      const chunk = response.read() as Buffer | null;
      if (chunk === null) await once(response, 'readable');
      else taken += chunk.length;
    }
    connection.tick(resumed + 9_999);
    await setImmediate();
    expect(res.destroyed).to.equal(false);
    response.destroy();
  });
});
