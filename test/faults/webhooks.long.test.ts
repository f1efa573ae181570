import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import { useFaultSystem, useWebhookReceiver } from '../support/use.js';
import { verifies, type Answer } from '../support/webhook-receiver.js';

const TURNS = 200;
const PART_AWAY_MS = 10_000;
const RECEIVER_AWAY_MS = 60_000;
/** Ten attempts, faster than in production: the outages of this test must not use them up. */
const RETRY_SECONDS = '1,5,10,10,20,20,20,20,20';
/** The longest way of a delivery: an attempt whose worker died, then every retry. */
const SETTLE_MS = 240_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Ways to fail a first attempt, taken in turn. */
const FAILURES: Answer[] = [
  (res) => void res.writeHead(500).end(),
  (res) => res.destroy(),
  // No answer at all.
  () => undefined,
  (res) => void res.writeHead(302, { location: '/elsewhere' }).end(),
  (res) => void res.writeHead(429, { 'retry-after': '1' }).end(),
  (res) => void res.writeHead(204).end(),
];

describe(`webhooks while parts are killed (${TURNS} turns)`, function () {
  this.timeout(SETTLE_MS + 120_000);
  const receiver = useWebhookReceiver();
  const system = useFaultSystem(() => ({
    workers: 2,
    ownPostgres: true,
    ownTemporal: true,
    env: { MCP_ALLOWED_HOSTS: receiver.host, WEBHOOK_DELIVERIES: 'on', WEBHOOK_RETRY_SECONDS: RETRY_SECONDS },
  }));
  let webhook: { id: string; secret: string };
  before(async () => {
    system.model.on(/Hello/, 'Done.');
    await system.db.query('UPDATE projects SET max_running_turns = 1000');
    const body = { url: receiver.url, event_types: ['turn.completed', 'turn.failed', 'turn.cancelled'] };
    webhook = (await system.insist('POST', '/v1/webhooks', body)).body as typeof webhook;
    const failureOf = new Map<string, Answer>();
    receiver.answer = (res, request, nth) => {
      if (nth > 1) return void res.writeHead(204).end();
      const failure = FAILURES[failureOf.size % FAILURES.length]!;
      failureOf.set(request.id, failure);
      failure(res, request, nth);
    };
  });

  const deliveries = (): Promise<{ id: string; event_id: string; turn_id: string; state: string }[]> =>
    system.db.query('SELECT id, event_id, turn_id, state FROM webhook_deliveries');

  it('each end of a turn arrives, and repeats have the same id', async () => {
    const burst: Promise<Turn[]> = Promise.all(
      Array.from({ length: TURNS }, async () => system.send(await system.session(), 'Hello')),
    );
    await eventually('the first requests', () => receiver.received.length >= 3);
    await Promise.all(system.workers.map((worker) => worker.kill()));
    await sleep(PART_AWAY_MS);
    await Promise.all(system.workers.map((worker) => worker.start()));

    await system.temporal!.kill();
    await sleep(PART_AWAY_MS);
    await system.temporal!.restart();

    await receiver.leave();
    await sleep(RECEIVER_AWAY_MS);
    await receiver.comeBack();

    await system.postgres!.kill();
    await sleep(PART_AWAY_MS);
    await system.postgres!.restart();
    const turns = await burst;
    await Promise.all(turns.map((turn) => system.ended(turn, SETTLE_MS)));

    const open = async (): Promise<number> =>
      (await deliveries().catch(() => [{ state: 'unknown' }])).filter(({ state }) => state !== 'delivered').length;
    await eventually('every delivery is made', async () => (await open()) === 0, SETTLE_MS);

    const rows = await deliveries();
    expect(rows.filter(({ state }) => state !== 'delivered')).to.deep.equal([]);
    expect(rows.map(({ turn_id }) => turn_id)).to.have.members(turns.map(({ turnId }) => turnId));
    for (const { id, event_id } of rows) {
      const requests = receiver.of(id);
      expect(requests, id).to.not.be.empty;
      expect(new Set(requests.map(({ body }) => body)).size, 'every attempt has the same body').to.equal(1);
      expect(requests[0]!.payload.data.event_id).to.equal(event_id);
      expect(requests.every((request) => verifies(webhook.secret, request))).to.equal(true);
    }
    const known = new Set(rows.map(({ id }) => id));
    expect(
      receiver.received.every(({ id }) => known.has(id)),
      'nothing else was sent',
    ).to.equal(true);
    const repeats = receiver.received.length - rows.length;
    console.log(`      ${rows.length} deliveries, ${repeats} further attempts`);
  });
});
