import { startTurnService, type TurnService } from '../../test/support/turns.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/webhook-receiver.js';
import { insertBacklog, webhookCalls } from '../../test/support/webhooks.js';

const FAILED = Number(process.env.FAILED ?? 100_000);
const SAMPLES = 20;
const MAX_MS = 60_000;

/**
 * `npm run check -- webhook-retries`, run by hand: one project sends 100,000 failed deliveries again, to a receiver that
 * answers or hangs. Prints how long another project's first attempts, retries and turns take before and meanwhile.
 */
describe(`beside ${FAILED} failed deliveries that another project sends again`, function () {
  this.timeout(1_800_000);
  let service: TurnService;
  let busy: WebhookReceiver;
  let receiver: WebhookReceiver;
  let busyId: string;
  before(async () => {
    [busy, receiver] = await Promise.all([startWebhookReceiver(), startWebhookReceiver()]);
    service = await startTurnService({
      config: { mcpAllowedHosts: [busy.host, receiver.host], webhookDeliveries: true },
    });
    ({ id: busyId } = await webhookCalls(service.api, busy.url).create({ event_types: ['turn.failed'] }));
    await measure('before');
  });
  after(async () => {
    await Promise.all([busy.close(), receiver.close()]);
    await service.close();
  });

  /** From the request to the receiver, and turns, in ms. A sample that takes a minute is the last one. */
  async function measure(what: string): Promise<void> {
    const api = service.as(await service.newKey({ project: `others ${what}` }));
    const others = webhookCalls(api, receiver.url);
    const { id } = await others.create({ event_types: ['turn.failed'] });
    const [first, retries, turns]: [number[], number[], number[]] = [[], [], []];
    const sent = busy.received.length;
    const began = performance.now();
    for (let n = 0; n < SAMPLES && Math.max(0, ...first, ...retries) < MAX_MS; n += 1) {
      const delivery = await others.test(id);
      first.push(await timeUntil(() => receiver.of(delivery).length === 1));
      await others.inState(id, delivery, 'delivered');
      await api('POST', `/v1/webhooks/${id}/deliveries/${delivery}/retry`);
      retries.push(await timeUntil(() => receiver.of(delivery).length === 2));
      const session = await service.session({ thinking_enabled: false });
      const started = performance.now();
      await service.send(session, 'Hello');
      await service.ended(session);
      turns.push(performance.now() - started);
    }
    const rate = (busy.received.length - sent) / ((performance.now() - began) / 1000);
    const times = `first attempt ${shown(first)}, retry ${shown(retries)}, turn ${shown(turns)}`;
    console.log(`      ${what}: ${times}, backlog ${rate.toFixed(0)}/s`);
  }

  /** Fails the deliveries and sends them again, as fast as one request after the other can. */
  async function retryAll(): Promise<void> {
    await service.db.query('DELETE FROM webhook_deliveries WHERE webhook_id = $1', [busyId]);
    await insertBacklog(service.db, busyId, FAILED);
    await service.db.query('UPDATE webhooks SET enabled = true WHERE id = $1', [busyId]);
    for (let from = 0; from < FAILED; from += 20_000) {
      await service.db.query(
        `UPDATE webhook_deliveries SET state = 'failed', attempt_count = 1, next_attempt_at = NULL
         WHERE webhook_id = $1 AND substr(event_id, 5)::integer BETWEEN $2 AND $3`,
        [busyId, from + 1, from + 20_000],
      );
    }
    const began = performance.now();
    for (let count = 1; count > 0;) {
      ({ count } = (await service.api('POST', `/v1/webhooks/${busyId}/retry-failed`)).body as { count: number });
    }
    console.log(`      retry-failed of all: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }

  it('deliveries beside failed ones whose receiver answers', async () => {
    await retryAll();
    await measure('receiver answers');
  });

  it('deliveries beside failed ones whose receiver hangs', async () => {
    busy.answer = () => undefined;
    await retryAll();
    await measure('receiver hangs');
  });

  it('deliveries beside failed ones that are all due at once, as scheduled retries after an outage', async () => {
    busy.answer = (res) => void res.writeHead(204).end();
    await retryAll();
    await service.db.query(
      `UPDATE webhook_deliveries SET next_attempt_at = now(), wake_at = now() WHERE webhook_id = $1 AND state = 'pending'`,
      [busyId],
    );
    await measure('all due');
  });
});

async function timeUntil(holds: () => boolean): Promise<number> {
  const began = performance.now();
  while (!holds() && performance.now() - began < MAX_MS) await new Promise((resolve) => setTimeout(resolve, 5));
  return performance.now() - began;
}

function shown(values: number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
  return `${at(0.5)} ms (p95 ${at(0.95)}, ${values.length} samples)`;
}
