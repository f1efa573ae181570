import { expect } from 'chai';
import type Koa from 'koa';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { SseConnection } from '../../../api/events/sse-connection.js';
import { closeServer, listen } from '../../support/listen.js';

/** More than the sockets of both sides hold. */
const LARGE = Buffer.alloc(30 * 1024 * 1024, 'x');
const LAST = Buffer.from('the last one');

/** decisions.md "Turns and events", "Slow reader"; the times are given to `tick`. */
describe('a reader of an event stream that has stopped reading', () => {
  let server: Server;
  let port: number;
  let res: ServerResponse;
  before(async () => {
    server = createServer((_, response) => (res = response));
    ({ port } = await listen(server));
  });
  after(() => closeServer(server));

  /** A connection whose reader takes nothing yet. */
  const open = async (
    waiting = 0,
  ): Promise<{ connection: SseConnection; response: IncomingMessage; gone: AbortController }> => {
    const call = request({ port, agent: false });
    call.end();
    await once(server, 'request');
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const connection = await SseConnection.open({ res } as Koa.Context, 2000, gone.signal, () =>
      Promise.resolve(waiting),
    );
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.pause();
    response.on('error', () => undefined);
    return { connection, response, gone };
  };
  /** With the socket full. */
  const openStalled = async (): Promise<{ connection: SseConnection; response: IncomingMessage }> => {
    const { connection, response } = await open();
    void connection.send(LARGE);
    for (let before = -1, same = 0; same < 10;) {
      await setTimeout(20);
      const written = res.socket!.bytesWritten;
      same = written === before && res.writableNeedDrain ? same + 1 : 0;
      before = written;
    }
    return { connection, response };
  };
  /** Fills the socket by what is written at once; returns what was written. */
  const fill = async (connection: SseConnection): Promise<string[]> => {
    const sent: string[] = [];
    for (let isFull = false; !isFull;) {
      const text = `${sent.length} `.padEnd(15_000, '.');
      if (connection.sendNow(Buffer.from(text))) sent.push(text);
      else isFull = await Promise.race([once(res, 'drain').then(() => false), setTimeout(500, true)]);
    }
    return sent;
  };
  const tick = async (connection: SseConnection, ms: number): Promise<void> => {
    connection.tick(Date.now() + ms);
    await setImmediate();
  };

  it('a reader of an event stream that has stopped reading is closed when its socket accepted no data for 10 s, and not before', async () => {
    const { connection } = await openStalled();
    await tick(connection, 5_000);
    expect(res.destroyed).to.equal(false);
    await tick(connection, 10_000);
    expect(res.destroyed).to.equal(true);
  });

  it('a reader of an event stream that has stopped reading is not closed when it has gone on reading meanwhile', async () => {
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

  it('a reader of an event stream that has stopped reading is written to at once until its socket is full, and again when it has read on, in order', async () => {
    const { connection, response } = await open();
    const sent = await fill(connection);
    expect(connection.sendNow(LAST)).to.equal(false);
    const waits = connection.send(LAST);
    let received = '';
    response.setEncoding('utf8').on('data', (text: string) => (received += text));
    response.resume();
    await waits;
    expect(connection.sendNow(LAST)).to.equal(true);
    connection.end();
    await once(response, 'end');
    expect(received.endsWith(`${sent.join('')}the last onethe last one`)).to.equal(true);
  });

  it('a reader of an event stream that has stopped reading is closed after 10 s when much waits behind what was written at once', async () => {
    const { connection } = await open(2 * 1024 * 1024);
    await fill(connection);
    await tick(connection, 5_000);
    expect(res.destroyed).to.equal(false);
    await tick(connection, 10_000);
    expect(res.destroyed).to.equal(true);
  });

  it('a reader of an event stream that has stopped reading gets nothing more when its stream must end while it stands still', async () => {
    const { connection, response, gone } = await open();
    await fill(connection);
    const { writableLength } = res;
    const waits = connection.send(LAST);
    gone.abort();
    await waits;
    expect(res.writableLength).to.equal(writableLength);
    response.destroy();
  });
});
