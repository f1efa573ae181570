import { expect } from 'chai';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { revokeKey } from '../../../src/projects/api-keys.js';
import { eventually } from '../../support/eventually.js';
import { text, wait } from '../../support/scripted-model.js';
import { openSse, type SseReader } from '../../support/sse-reader.js';
import { startTurnService, type TurnService } from '../../support/turns.js';

/** What the sockets of both sides hold is up to ten megabytes: a frame has to be larger to wait. */
const FRAME = 20 * 1024 * 1024;

/** Streams that the service ends by itself (contract.md §3 "Slow reader", §5 `keys -- revoke`). */
describe('a stream that the service ends', () => {
  let service: TurnService;
  before(async () => {
    service = await startTurnService();
  });
  after(() => service.close());
  afterEach(() => service.model.reset());

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
  const openPaused = async (sessionId: string): Promise<IncomingMessage> => {
    const call = request(`${service.url}/v1/sessions/${sessionId}/events/stream`, {
      headers: { Authorization: `Bearer ${service.key}` },
      agent: false,
    });
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.pause();
    response.on('error', () => undefined);
    return response;
  };

  it('its reader has stopped reading with more than 1 MiB to come: closed after 10 s, resumed without loss', async () => {
    const { sessionId, firstId } = await sessionWithFrame(FRAME);
    const before = performance.now();
    const response = await openPaused(sessionId);
    const openStreams = async (): Promise<number> => {
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      return Number(/^event_streams_open (\d+)$/m.exec(metrics)![1]);
    };
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

  it('not when it reads slowly through one large frame', async () => {
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

  it('its key is revoked: within 10 s, and the turn goes on', async () => {
    const gate = service.model.gate();
    service.model.reply([text('Begun.'), wait(gate)]);
    const key = await service.newKey();
    const { key_id: keyId } = (
      await service.db.query<{ key_id: string }[]>('SELECT id AS key_id FROM api_keys ORDER BY created_at DESC LIMIT 1')
    )[0]!;
    const sessionId = await service.session();
    const revoked = await openSse(`${service.url}/v1/sessions/${sessionId}/events/stream`, key);
    const waiting = await openSse(`${service.url}/v1/sessions/${await service.session()}/events/stream`, key);
    const other = await service.stream(sessionId);
    await service.send(sessionId, 'Hello');
    await revoked.until(({ event }) => event === 'agent.message.delta');
    const before = performance.now();
    expect(await revokeKey(service.db, keyId)).to.equal(true);
    await Promise.all([revoked.ended, waiting.ended]);
    expect(performance.now() - before).to.be.lessThan(10_000);
    expect(revoked.frames.at(-1)!.event).to.equal('agent.message.delta');
    gate.open();
    await other.ended;
    expect(other.frames.at(-1)!.event).to.equal('turn.completed');
  });

  it('not when it opens while the keys of others are checked', async () => {
    const others = await openSse(
      `${service.url}/v1/sessions/${await service.session()}/events/stream`,
      await service.newKey(),
    );
    const sessionId = await service.session();
    let late = null as SseReader | null;
    await eventually('the stream opens while the keys are checked', async () => {
      // A key that was just used is known for three seconds.
      const key = await service.newKey();
      await service.as(key)('GET', `/v1/sessions/${sessionId}`);
      late = await service.db.transaction(async (tx) => {
        await tx.query('LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE');
        for (const until = performance.now() + 1000; performance.now() < until;) {
          const [check] = await tx.query<[{ waits: boolean }]>(
            `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'api_keys'::regclass AND NOT granted) AS waits`,
          );
          if (check.waits) return openSse(`${service.url}/v1/sessions/${sessionId}/events/stream`, key);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return null;
      });
      return late !== null;
    });
    service.model.reply('Still here.');
    await service.send(sessionId, 'Hello');
    await late!.ended;
    expect(late!.frames.at(-1)?.event).to.equal('turn.completed');
    others.close();
  });
});
