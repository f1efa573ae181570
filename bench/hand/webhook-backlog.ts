import { startTurnService, type TurnService } from '../../test/support/turns.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/webhook-receiver.js';
import { insertBacklog, webhookCalls } from '../../test/support/webhooks.js';

const BACKLOG = Number(process.env.BACKLOG ?? 1_000_000);
const SAMPLES = 20;
const DRAIN_MS = 15_000;

/**
 * `npm run check -- webhook-backlog`, run by hand: one project has a million deliveries to a receiver, fast or hanging. Prints
 * how long another project's deliveries and turns take beside it, and how fast one worker sends the backlog.
 */
describe(`beside ${BACKLOG} deliveries of another project`, function () {
  this.timeout(900_000);
  let service: TurnService;
  let busy: WebhookReceiver;
  let receiver: WebhookReceiver;
  before(async () => {
    [busy, receiver] = await Promise.all([startWebhookReceiver(), startWebhookReceiver()]);
    service = await startTurnService({
      config: { mcpAllowedHosts: [busy.host, receiver.host], webhookDeliveries: true },
    });
    const { id } = await webhookCalls(service.api, busy.url).create();
    await measure('without a backlog');
    await insertBacklog(service.db, id, BACKLOG);
    await service.db.query('ANALYZE webhook_deliveries');
  });
  after(async () => {
    await Promise.all([busy.close(), receiver.close()]);
    await service.close();
  });

  /** The time from POST test to the request, and of a turn, in ms: median and worst. */
  async function measure(what: string): Promise<void> {
    const others = webhookCalls(service.as(await service.newKey({ project: `others ${what}` })), receiver.url);
    const { id } = await others.create({ event_types: ['turn.failed'] });
    const [deliveries, turns]: number[][] = [[], []];
    const before = busy.received.length;
    const began = performance.now();
    for (let n = 0; n < SAMPLES; n += 1) {
      const sent = performance.now();
      const delivery = await others.test(id);
      while (receiver.of(delivery).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      deliveries!.push(receiver.of(delivery)[0]!.at - sent);
      const session = await service.session({ thinking_enabled: false });
      const started = performance.now();
      await service.send(session, 'Hello');
      await service.ended(session);
      turns!.push(performance.now() - started);
    }
    const rate = (busy.received.length - before) / ((performance.now() - began) / 1000);
    console.log(`      ${what}: delivery ${shown(deliveries!)}, turn ${shown(turns!)}, backlog ${rate.toFixed(0)}/s`);
  }

  for (const [what, body] of [
    ['204', undefined],
    ['200 with a short body', 'ok'],
  ] as const) {
    it(`deliveries beside a backlog that one worker sends alone, answered by ${what}`, async () => {
      busy.answer = (res) => void res.writeHead(body === undefined ? 204 : 200).end(body);
      const [before, connections] = [busy.received.length, busy.connections];
      await new Promise((resolve) => setTimeout(resolve, DRAIN_MS));
      const sent = busy.received.length - before;
      const rate = (sent / (DRAIN_MS / 1000)).toFixed(0);
      console.log(`      alone, answered by ${what}: ${rate}/s over ${busy.connections - connections} new connections`);
    });
  }

  it('deliveries beside a backlog whose receiver answers', () => measure('receiver answers'));

  it('deliveries beside a backlog whose receiver hangs', async () => {
    busy.answer = () => undefined;
    await measure('receiver hangs');
  });
});

function shown(values: number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  return `${Math.round(sorted[Math.floor(sorted.length / 2)]!)} ms (worst ${Math.round(sorted.at(-1)!)})`;
}
