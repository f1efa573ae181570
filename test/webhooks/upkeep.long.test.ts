import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createMaintenanceActivities } from '../../activities/maintenance/index.js';
import { reencryptSecrets } from '../../src/db/reencrypt.js';
import { openStorage } from '../../src/files/open-storage.js';
import { createLogger } from '../../src/platform/logger.js';
import { isSealedWithNewest } from '../../src/platform/sealed.js';
import { INTERVAL_MS } from '../../src/webhooks/start-deliveries.js';
import { eventually } from '../support/eventually.js';
import { sampleOf } from '../support/metrics.js';
import { verifies } from '../support/webhook-receiver.js';
import { insertBacklog, webhookCalls, type WebhookCalls } from '../support/webhooks.js';
import { useTurnService, useWebhookReceiver } from '../support/use.js';

const NEW_KEY = Buffer.alloc(32, 9);

describe('what keeps webhooks going', () => {
  let hooks: WebhookCalls;
  const receiver = useWebhookReceiver();
  const service = useTurnService(() => ({
    workers: 0,
    config: { mcpAllowedHosts: [receiver.host], webhookDeliveries: true },
  }));
  before(async () => {
    hooks = webhookCalls(service.api, receiver.url);
  });

  const metric = (name: string): Promise<number> => sampleOf(service, name);

  it('the upkeep of webhooks removes deliveries after 30 days', async () => {
    const { id } = await hooks.create();
    await insertBacklog(service.db, id, 2000);
    await service.db.query(
      `UPDATE webhook_deliveries SET created_at = now() - interval '30 days 1 minute'
       WHERE substr(event_id, 5)::integer <= 1200`,
    );
    const storage = await openStorage(service.config);
    const log = createLogger('silent', 'test');
    const activities = createMaintenanceActivities({ config: service.config, db: service.db, log, storage });
    const steps: number[] = [];
    for (let more = true; more;) {
      const step = await activities.maintain({ task: 'webhook-deliveries', from: null });
      steps.push(step.counts.deliveries!);
      more = step.next !== null;
    }
    expect(steps).to.deep.equal([1000, 200]);
    const [left] = await service.db.query<{ count: number }[]>(
      'SELECT count(*)::integer AS count FROM webhook_deliveries',
    );
    expect(left!.count).to.equal(800);
    await service.db.query('DELETE FROM webhook_deliveries');
  });

  it('the upkeep of webhooks measures what waits, and attempts by outcome', async () => {
    const { id } = await hooks.create();
    expect(await metric('webhook_deliveries_oldest_pending_seconds')).to.equal(0);
    await insertBacklog(service.db, id, 2);
    await service.db.query(
      `UPDATE webhook_deliveries SET created_at = now() - interval '1 hour', next_attempt_at = now() + interval '1 hour'
       WHERE event_id = 'evt_1'`,
    );
    await service.db.query(
      `UPDATE webhook_deliveries SET next_attempt_at = now() - interval '1 minute' WHERE event_id = 'evt_2'`,
    );
    expect(await metric('webhook_deliveries_oldest_pending_seconds')).to.be.within(3600, 3700);
    expect(await metric('webhook_attempts_overdue_seconds')).to.be.within(60, 160);

    const before = (await metric('webhook_attempts_total{outcome="delivered"}')) || 0;
    const worker = await service.startWorker();
    for (const { id: delivery } of await hooks.deliveries(id)) await hooks.inState(id, delivery, 'delivered');
    expect((await metric('webhook_attempts_total{outcome="delivered"}')) - before).to.equal(2);
    expect(await metric('webhook_deliveries_oldest_pending_seconds')).to.equal(0);
    await worker.close();
  });

  it('the upkeep of webhooks leaves deliveries to the workers that have them switched on', async () => {
    const turns = await service.startWorker({ webhookDeliveries: false });
    const { id } = await hooks.create();
    const delivery = await hooks.test(id);
    const session = await service.session();
    await service.send(session, 'Hello');
    expect(await service.ended(session)).to.include({ type: 'turn.completed' });
    await sleep(2 * INTERVAL_MS);
    expect(await hooks.delivery(id, delivery)).to.deep.include({ state: 'pending', attempts: [] });

    const worker = await service.startWorker();
    await hooks.inState(id, delivery, 'delivered');
    await Promise.all([turns.close(), worker.close()]);
  });

  it('the upkeep of webhooks starts deliveries in the one worker that holds the lease', async () => {
    const worker = await service.startWorker();
    const { id } = await hooks.create();
    await hooks.inState(id, await hooks.test(id), 'delivered');
    await service.db.query(
      `UPDATE leases SET holder = 'another', until = clock_timestamp() + interval '1 hour' WHERE name = 'deliveries'`,
    );
    let waiting = '';
    await eventually('the worker no longer starts deliveries', async () => {
      waiting = await hooks.test(id);
      await sleep(5 * INTERVAL_MS);
      return (await hooks.delivery(id, waiting)).state === 'pending';
    });
    await service.db.query(`UPDATE leases SET until = clock_timestamp() WHERE holder = 'another'`);
    await hooks.inState(id, waiting, 'delivered');
    await worker.close();
    expect(await service.db.query(`SELECT FROM leases WHERE name = 'deliveries'`), 'given back').to.deep.equal([]);
  });

  it('the upkeep of webhooks seals secrets with the newest key, the one before a rotation too', async () => {
    const webhook = await hooks.create();
    const { body } = await service.api('POST', `/v1/webhooks/${webhook.id}/rotate-secret`);
    const [old] = service.config.encryptionKeys;
    const sealed: number = (
      await service.db.query<{ count: number }[]>(
        'SELECT (count(secret) + count(previous_secret))::integer AS count FROM webhooks',
      )
    )[0]!.count;
    expect(await reencryptSecrets(service.db, [NEW_KEY, old!])).to.equal(sealed);
    expect(await reencryptSecrets(service.db, [NEW_KEY, old!])).to.equal(0);
    const [row] = await service.db.query('SELECT secret, previous_secret FROM webhooks WHERE id = $1', [webhook.id]);
    for (const secret of [row.secret, row.previous_secret])
      expect(isSealedWithNewest([NEW_KEY], secret)).to.equal(true);

    const lost = await service.startWorker();
    const failed = await hooks.test(webhook.id);
    const { attempts } = await hooks.until(webhook.id, failed, ({ attempts }) => attempts.length === 1);
    expect(attempts[0]).to.include({ status: null, error: 'The stored secret cannot be opened. Rotate it.' });
    await lost.close();

    service.config.encryptionKeys = [NEW_KEY];
    const worker = await service.startWorker();
    const delivery = await hooks.test(webhook.id);
    await hooks.inState(webhook.id, delivery, 'delivered');
    for (const secret of [webhook.secret, body.secret])
      expect(verifies(secret, receiver.of(delivery)[0]!)).to.equal(true);
    await worker.close();
  });
});
