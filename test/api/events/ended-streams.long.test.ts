import { expect } from 'chai';
import { revokeKey } from '../../../src/projects/api-keys.js';
import { eventually } from '../../support/eventually.js';
import { text, wait } from '../../support/scripted-model.js';
import { openSse, type SseReader } from '../../support/sse-reader.js';
import { useTurnService } from '../../support/use.js';

/** Streams that the service ends by itself (decisions.md "Running it" `keys -- revoke`). */
describe('a stream that the service ends', () => {
  const service = useTurnService();
  afterEach(() => service.model.reset());

  it('a stream that the service ends its key is revoked: within 10 s, and the turn goes on', async () => {
    const gate = service.model.gate();
    service.model.reply([text('Begun.'), wait(gate)]);
    const key = await service.newKey();
    const { key_id: keyId } = (
      await service.db.query<{ key_id: string }[]>('SELECT id AS key_id FROM api_keys ORDER BY created_at DESC LIMIT 1')
    )[0]!;
    const sessionId = await service.session();
    const revoked = await openSse(`${service.url}/v1/sessions/${sessionId}/events/stream`, key);
    const waiting = await openSse(`${service.url}/v1/sessions/${await service.session()}/events/stream`, key);
    const behind = await service.session();
    service.model.on(/Before/, 'Ended.');
    await service.send(behind, 'Before');
    await service.ended(behind);
    const following = await openSse(`${service.url}/v1/sessions/${behind}/events/stream?follow=session`, key);
    const other = await service.stream(sessionId);
    await service.send(sessionId, 'Hello');
    await revoked.until(({ event }) => event === 'agent.message.delta');
    const before = performance.now();
    expect(await revokeKey(service.db, keyId)).to.equal(true);
    await Promise.all([revoked.ended, waiting.ended, following.ended]);
    expect(performance.now() - before).to.be.lessThan(10_000);
    expect(revoked.frames.at(-1)!.event).to.equal('agent.message.delta');
    gate.open();
    await other.ended;
    expect(other.frames.at(-1)!.event).to.equal('turn.completed');
  });

  it('a stream that the service ends not when it opens while the keys of others are checked', async () => {
    const others = await openSse(
      `${service.url}/v1/sessions/${await service.session()}/events/stream`,
      await service.newKey(),
    );
    const sessionId = await service.session();
    let late = null as SseReader | null;
    await eventually('the stream opens while the keys are checked', async () => {
      // The API keeps a key that was just used for three seconds.
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
