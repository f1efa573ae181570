import { expect } from 'chai';
import { listDeliveries } from '../../src/webhooks/deliveries.js';
import { countRowsRead } from '../support/rows-read.js';
import { reachedLimit } from '../support/rows.js';
import type { TestService } from '../support/service.js';
import { insertBacklog, webhookCalls, type WebhookCalls } from '../support/webhooks.js';
import { useService, useTurnService, useWebhookReceiver } from '../support/use.js';

/** Makes the pending deliveries of a webhook failed ones. */
async function fail({ db }: TestService, webhookId: string, attempts: number): Promise<void> {
  await db.query(
    `UPDATE webhook_deliveries SET state = 'failed', next_attempt_at = NULL, attempt_count = $2 WHERE webhook_id = $1`,
    [webhookId, attempts],
  );
}

describe('what a receiver of webhooks does', () => {
  let hooks: WebhookCalls;
  const receiver = useWebhookReceiver();
  const service = useTurnService(() => ({
    config: { mcpAllowedHosts: [receiver.host], webhookDeliveries: true, webhookRetrySeconds: [] },
  }));
  before(async () => {
    hooks = webhookCalls(service.api, receiver.url);
  });

  it('a receiver of webhooks finds the final message with one request', async () => {
    const { id: webhookId } = await hooks.create();
    const read: unknown[] = [];
    receiver.answer = (res, { payload }) => {
      const { session_id, turn_id } = payload.data;
      void service.api('GET', `/v1/sessions/${session_id}/turns/${turn_id}`).then(({ body }) => {
        read.push(body);
        res.writeHead(204).end();
      });
    };
    service.model.reply('Two orders are late.');
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Which orders are late?');
    const end = await service.ended(sessionId);
    const [{ id, event_id } = { id: '', event_id: '' }] = await hooks.deliveries(webhookId);
    await hooks.inState(webhookId, id, 'delivered');
    expect(read).to.have.length(1);
    expect(read[0]).to.deep.include({
      id: turnId,
      status: 'completed',
      message: 'Two orders are late.',
      usage: end.usage,
    });
    const event = await service.api('GET', `/v1/sessions/${sessionId}/events/${event_id}`);
    expect(event.body).to.deep.equal(end);
  });

  it('a receiver of webhooks gets again all that failed, and nothing else, once it asks', async () => {
    const { id: webhookId } = await hooks.create({ event_types: ['turn.failed'] });
    const send = async (count: number, state: string): Promise<string[]> => {
      const ids = [];
      for (let n = 0; n < count; n += 1) ids.push(await hooks.test(webhookId));
      for (const id of ids) await hooks.inState(webhookId, id, state);
      return ids;
    };
    receiver.answer = (res) => void res.writeHead(204).end();
    const [fine] = (await send(1, 'delivered')) as [string];
    receiver.answer = (res) => void res.writeHead(500).end();
    const failed = await send(3, 'failed');
    const list = async (state: string) =>
      (await service.api('GET', `/v1/webhooks/${webhookId}/deliveries?state=${state}`)).body.items as { id: string }[];
    expect((await list('failed')).map(({ id }) => id)).to.deep.equal(failed.toReversed());
    expect((await list('delivered')).map(({ id }) => id)).to.deep.equal([fine]);
    expect(await list('pending')).to.deep.equal([]);

    receiver.answer = (res) => void res.writeHead(204).end();
    const path = `/v1/webhooks/${webhookId}/retry-failed`;
    const { status, body } = await service.api('POST', path);
    expect([status, body]).to.deep.equal([202, { count: 3 }]);
    for (const id of failed) expect((await hooks.inState(webhookId, id, 'delivered')).attempts).to.have.length(2);
    expect(await list('failed')).to.deep.equal([]);
    expect(receiver.of(fine)).to.have.length(1);
    expect((await service.api('POST', path)).body).to.deep.equal({ count: 0 });
  });

  it('a receiver of webhooks shows in the metrics when it fails for an hour', async () => {
    const failing = async (): Promise<number> => {
      const metrics = (await service.as(null)('GET', '/metrics')).body as string;
      return Number(/^webhooks_failing (\d+)$/m.exec(metrics)?.[1]);
    };
    const { id: webhookId } = await hooks.create({ event_types: ['turn.failed'] });
    const before = await failing();
    const since = (minutes: number) =>
      service.db.query('UPDATE webhooks SET failing_since = now() - make_interval(mins => $2) WHERE id = $1', [
        webhookId,
        minutes,
      ]);
    await since(59);
    expect(await failing()).to.equal(before);
    await since(61);
    expect(await failing()).to.equal(before + 1);
    receiver.answer = (res) => void res.writeHead(204).end();
    await hooks.inState(webhookId, await hooks.test(webhookId), 'delivered');
    expect(await failing()).to.equal(before);
  });
});

describe('failed deliveries, very many of them', () => {
  let hooks: WebhookCalls;
  const service = useService();
  before(async () => {
    hooks = webhookCalls(service.api, 'https://93.184.216.34/');
  });

  it('very many failed deliveries become due at a pace, up to 10,000 with one request', async () => {
    const { id: webhookId } = await hooks.create();
    await insertBacklog(service.db, webhookId, 10_002);
    await fail(service, webhookId, 1);
    const retry = async () => (await service.api('POST', `/v1/webhooks/${webhookId}/retry-failed`)).body;
    expect(await retry()).to.deep.equal({ count: 10_000 });
    const due = async () =>
      (
        await service.db.query<[{ seconds: number; most: number }]>(
          `SELECT extract(epoch FROM max(wake_at) - min(wake_at))::float AS seconds,
             (SELECT max(count)::integer FROM (
               SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending'
               GROUP BY date_bin('1 second', wake_at, (SELECT min(wake_at) FROM webhook_deliveries
                 WHERE webhook_id = $1 AND state = 'pending'))) AS each_second) AS most
           FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending' AND wake_at = next_attempt_at`,
          [webhookId],
        )
      )[0];
    expect(await due()).to.deep.equal({ seconds: 199.98, most: 50 });
    expect(await retry()).to.deep.equal({ count: 2 });
    expect(await due(), 'after those of the request before').to.deep.equal({ seconds: 200.02, most: 50 });
    reachedLimit('retry-failed: 10,000 deliveries');
  });

  it('very many failed deliveries do not keep new ones back if they never had an attempt', async () => {
    const { id: webhookId } = await hooks.create();
    await insertBacklog(service.db, webhookId, 200);
    await fail(service, webhookId, 0);
    await service.api('POST', `/v1/webhooks/${webhookId}/retry-failed`);
    const [{ later }] = await service.db.query(
      'SELECT count(*)::integer AS later FROM webhook_deliveries WHERE webhook_id = $1 AND wake_at > clock_timestamp()',
      [webhookId],
    );
    expect(later).to.equal(0);
  });

  it('very many failed deliveries are found among delivered ones without reading these, page by page', async () => {
    const { id: webhookId } = await hooks.create();
    // Postgres estimates the state as rare, as it is in the whole table.
    await service.db.query('DELETE FROM webhook_deliveries');
    await insertBacklog(service.db, webhookId, 5000);
    await fail(service, webhookId, 1);
    await service.db.query(
      `UPDATE webhook_deliveries SET state = 'delivered'
       WHERE webhook_id = $1 AND id NOT IN ($2, $3, $4)`,
      [webhookId, ...[1, 2, 3].map((n) => `dlv_${n}${webhookId}`)],
    );
    await service.db.query('ANALYZE webhook_deliveries');
    const { result, read } = await countRowsRead(service.db, (db) =>
      listDeliveries(db, webhookId, { limit: 100, after: null }, 'failed'),
    );
    expect(result.rows).to.have.length(3);
    expect(read).to.be.lessThan(50);

    const get = (query: string) => service.api('GET', `/v1/webhooks/${webhookId}/deliveries?${query}`);
    const first = (await get('state=failed&limit=2')).body;
    const second = (await get(`state=failed&limit=2&cursor=${first.meta.next_cursor}`)).body;
    expect([...first.items, ...second.items]).to.have.length(3);
    expect(second.meta.next_cursor).to.equal(null);
    for (const query of ['', 'state=delivered&']) {
      const refused = await get(`${query}cursor=${first.meta.next_cursor}`);
      expect([refused.status, refused.body.error?.type]).to.deep.equal([422, 'invalid_cursor']);
    }
    for (const state of ['', 'FAILED', 'lost']) {
      const { status, body } = await get(`state=${state}`);
      expect([status, body.error?.details.errors[0].path]).to.deep.equal([422, '/query/state']);
    }
  });
});
