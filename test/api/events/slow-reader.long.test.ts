import { expect } from 'chai';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { eventually } from '../../support/eventually.js';
import { useTurnService } from '../../support/use.js';

/** What the sockets of both sides hold is up to ten megabytes: a frame has to be larger to wait. */
const FRAME = 20 * 1024 * 1024;

/** decisions.md "Turns and events", "Slow reader". */
describe('the reader of a stream', () => {
  const service = useTurnService();

  /** A session whose only turn has ended with one frame of that size, written as the model would not. */
  const sessionWithFrame = async (characters: number): Promise<{ sessionId: string; firstId: string }> => {
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Hello');
    await service.ended(sessionId);
    await service.db.query(
      `UPDATE events SET data = json_build_object('message_id', 'msg_x', 'content', repeat('x', $2::integer))
       WHERE turn_id = $1 AND type = 'agent.message'`,
      [turnId, characters],
    );
    return { sessionId, firstId: `${turnId}:1` };
  };
  /** A response of which nothing is read yet. */
  const openPaused = async (sessionId: string, query = ''): Promise<IncomingMessage> => {
    const call = request(`${service.url}/v1/sessions/${sessionId}/events/stream${query}`, {
      headers: { Authorization: `Bearer ${service.key}` },
      agent: false,
    });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.pause();
    response.on('error', () => undefined);
    return response;
  };

  const openStreams = async (): Promise<number> => {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    return Number(/^event_streams_open (\d+)$/m.exec(metrics)![1]);
  };

  it('the reader of a stream is closed after 10 s when it has stopped reading with more than 1 MiB to come, and resumes without loss', async () => {
    const { sessionId, firstId } = await sessionWithFrame(FRAME);
    const before = performance.now();
    const response = await openPaused(sessionId);
    await eventually('the stream is closed', async () => (await openStreams()) === 0);
    expect(performance.now() - before).to.be.within(9_000, 40_000);
    response.destroy();
    const resumed = await fetch(`${service.url}/v1/sessions/${sessionId}/events/stream`, {
      headers: { Authorization: `Bearer ${service.key}`, 'Last-Event-ID': firstId },
    });
    const rest = await resumed.text();
    expect(rest.match(/^event: .*$/gm)).to.deep.equal(['event: agent.message', 'event: turn.completed']);
    expect(rest.length).to.be.greaterThan(FRAME);
  });

  it('the reader of a stream of the session is closed too, when what waits is in later turns, and resumes without loss', async () => {
    const { sessionId, firstId } = await sessionWithFrame(FRAME);
    const response = await openPaused(sessionId, `?follow=session`);
    // The socket takes the beginning of this turn; the next ones wait.
    let last = '';
    for (const content of ['Two', 'Three']) {
      last = `"type":"turn.completed","turn_id":"${await service.send(sessionId, content)}"`;
      await service.ended(sessionId);
    }
    await eventually('the stream is closed', async () => (await openStreams()) === 0);
    response.destroy();
    const resumed = await fetch(`${service.url}/v1/sessions/${sessionId}/events/stream?follow=session`, {
      headers: { Authorization: `Bearer ${service.key}`, 'Last-Event-ID': firstId },
    });
    const pieces: string[] = [];
    for await (const chunk of resumed.body!) {
      pieces.push(Buffer.from(chunk as Uint8Array).toString());
      if (pieces.slice(-2).join('').includes(last)) break;
    }
    const ids = [...pieces.join('').matchAll(/^data: \{"id":"(\w+)"/gm)].map(([, id]) => id);
    expect(ids).to.deep.equal((await service.history(sessionId)).slice(1).map(({ id }) => id));
  });

  it('the reader of a stream of a session that is deleted while much is sent gets an end', async () => {
    const { sessionId } = await sessionWithFrame(FRAME);
    const response = await openPaused(sessionId, `?follow=session`);
    expect((await service.api('DELETE', `/v1/sessions/${sessionId}`)).status).to.equal(204);
    response.resume();
    await once(response, 'close');
    expect(response.complete).to.equal(true);
  });

  it('the reader of a stream is not closed when it reads slowly through one large frame', async () => {
    const { sessionId } = await sessionWithFrame(FRAME);
    const response = await openPaused(sessionId);
    const before = performance.now();
    let received = 0;
    let ended = false;
    response.once('end', () => (ended = true));
    response.on('data', (chunk: Buffer) => {
      received += chunk.length;
      // Twelve seconds and more for the whole, never still for long.
      if (performance.now() - before > 13_000) return;
      response.pause();
      setTimeout(() => response.resume(), 60);
    });
    response.resume();
    await once(response, 'close');
    expect(ended).to.equal(true);
    expect(received).to.be.greaterThan(FRAME);
    expect(performance.now() - before).to.be.greaterThan(13_000);
  });
});
