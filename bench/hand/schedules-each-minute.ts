import { startTurnService, type TurnService } from '../../test/support/turns.js';
import { createSchedule, newSchedule, runsOf } from '../../test/support/schedules.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/webhook-receiver.js';
import { webhookCalls } from '../../test/support/webhooks.js';

const SCHEDULES = 100;
const BEFORE_MS = 60_000;
const DURING_MS = 190_000;
const MINUTE_MS = 60_000;
/** The times of schedules are at the start of a minute. */
const BURST_MS = 15_000;

/**
 * `npm run check -- schedules`, run by hand: one project has 100 schedules of every minute. Prints how long another project's
 * turns and webhooks take before and meanwhile, and how late its own schedule and the others are.
 */
describe(`beside ${SCHEDULES} schedules of every minute of another project`, function () {
  this.timeout(900_000);
  let service: TurnService;
  let receiver: WebhookReceiver;
  before(async () => {
    receiver = await startWebhookReceiver();
    service = await startTurnService({ config: { mcpAllowedHosts: [receiver.host], webhookDeliveries: true } });
    service.model.on(/Report/, 'Nothing is late.');
  });
  after(async () => {
    await receiver.close();
    await service.close();
  });

  it('a turn and its webhook', async () => {
    const other = service.as(await service.newKey({ project: 'others' }));
    await webhookCalls(other, receiver.url).create();
    const measure = async (what: string, durationMs: number): Promise<void> => {
      const [turns, burst, webhooks]: [number[], number[], number[]] = [[], [], []];
      for (const until = performance.now() + durationMs; performance.now() < until;) {
        const session = await other('POST', '/v1/sessions', { model_id: 'scripted', thinking_enabled: false });
        const path = `/v1/sessions/${session.body.id}`;
        const isBurst = Date.now() % MINUTE_MS < BURST_MS;
        const began = performance.now();
        const { body } = await other('POST', `${path}/messages`, { content: 'Report' });
        const turn = `${path}/turns/${body.turn_id}`;
        while ((await other('GET', turn)).body.status !== 'completed') await pause(10);
        const took = performance.now() - began;
        (isBurst ? burst : turns).push(took);
        while (!receiver.received.some(({ payload }) => payload.data.turn_id === body.turn_id)) await pause(5);
        webhooks.push(performance.now() - began - took);
        await pause(200);
      }
      const times = `turn ${shown(turns)}, at the start of a minute ${shown(burst)}, webhook after it ${shown(webhooks)}`;
      console.log(`      ${what}: ${times}`);
    };
    await measure('before', BEFORE_MS);
    const body = newSchedule({ cron: '* * * * *' }, 'scripted');
    const own = await createSchedule(other, body);
    const many = [];
    for (let n = 0; n < SCHEDULES; n += 1) many.push(await createSchedule(service.api, body));
    await measure('meanwhile', DURING_MS);
    const late = async (api: typeof other, id: string): Promise<number[]> =>
      (await runsOf(api, id)).map((run) => Date.parse(run.started_at) - Date.parse(run.scheduled_at));
    const others = await Promise.all(many.map(({ id }) => late(service.api, id as string)));
    console.log(`      late: its own schedule ${shown(await late(other, own.id))}, the 100 ${shown(others.flat())}`);
  });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function shown(values: number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)]!);
  return values.length === 0 ? 'none' : `${at(0.5)} ms (p95 ${at(0.95)}, ${values.length} samples)`;
}
