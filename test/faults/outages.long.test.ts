import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { prepareLoad, type Load, type Pace } from '../support/fault-load.js';
import { ALL_KILLABLE } from '../support/fault-system.js';
import type { RoleProcess } from '../support/role-process.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { startStandby } from '../support/standby.js';
import { use, useFaultSystem } from '../support/use.js';

const TURNS = 40;
const PACE: Pace = { words: 60, everyMs: 100 };
/** How long a part is away. */
const AWAY_MS = 20_000;
/** Below the heartbeat timeout of 90 s: the lease of its worker keeps an activity, and only its lease gives it to another. */
const TEMPORAL_AWAY_MS = 30_000;
const MAX_TAKEOVER_MS = 45_000;
const CUT_ROUNDS = 10;
const CUT_PAUSE_MS = 300;
/** How long the address already leads to the standby while it still refuses writes. */
const READ_ONLY_MS = 2_000;

/** One running system, whose parts are killed, cut off and replaced, one after the other. */
describe('outages', function () {
  this.timeout(600_000);
  const servers = { ownTemporal: true, proxies: true, queriesThroughProxy: true };
  const system = useFaultSystem({ ...ALL_KILLABLE, ...servers });
  let startLoad: (turns: number, pace: Pace) => Promise<Load>;
  before(async () => (startLoad = await prepareLoad(system)));

  const ready = async ({ url }: RoleProcess): Promise<number> => (await fetch(`${url}/readyz`)).status;
  const allReady = (): Promise<void> =>
    eventually('every process is ready', async () => {
      const statuses = await Promise.all([...system.apis, ...system.workers].map(ready));
      return statuses.every((status) => status === 200);
    });

  describe('a part that is killed under load', () => {
    let load: Load;
    beforeEach(async () => {
      load = await startLoad(TURNS, PACE);
      await load.underWay(Math.ceil(TURNS / 2));
    });

    const awayAndBack = async (restart: () => Promise<unknown>, meanwhile = async (): Promise<void> => undefined) => {
      await Promise.all([sleep(AWAY_MS), meanwhile()]);
      await restart();
      const back = performance.now();
      await load.verify();
      console.log(`      all turns ended ${((performance.now() - back) / 1000).toFixed(1)} s after it was back`);
    };

    for (const [what, role] of [
      ['worker', 'workers'],
      ['API process', 'apis'],
    ] as const)
      it(`every ${what} is killed under load, and no turn is lost`, async () => {
        await Promise.all(system[role].map((each) => each.kill()));
        await awayAndBack(() => Promise.all(system[role].map((each) => each.start())));
      });

    it('Postgres is killed under load: messages are refused for now', async () => {
      const sessionId = await system.session();
      await system.postgres!.kill();
      await awayAndBack(
        () => system.postgres!.restart(),
        async () => {
          const refused = await system.ask(0, 'POST', `/v1/sessions/${sessionId}/messages`, { content: 'Hello' });
          expect(refused.status).to.equal(503);
          expect(refused.headers.get('retry-after')).to.match(/^\d+$/);
        },
      );
      expect(await system.history(sessionId)).to.deep.equal([]);
    });

    it('Temporal is killed under load: messages are accepted and run later', async () => {
      const sessionId = await system.session();
      await system.temporal!.kill();
      await awayAndBack(
        () => system.temporal!.restart(),
        async () => void system.watch(await system.send(sessionId, 'Hello')),
      );
      expect((await system.history(sessionId)).at(-1)).to.include({ type: 'turn.completed' });
    });
  });

  it('outages of connections, the LISTEN connection on its own too: nothing is lost', async () => {
    const load = await startLoad(TURNS, PACE);
    await load.underWay(4);
    for (let round = 0; round < CUT_ROUNDS; round += 1) {
      system.proxies!.postgres.cut();
      await sleep(CUT_PAUSE_MS);
      system.proxies!.temporal.cut();
      await sleep(CUT_PAUSE_MS);
      await system.db
        .query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name LIKE 'listen %'`,
        )
        // Its own connection may have been cut too.
        .catch(() => undefined);
      await sleep(CUT_PAUSE_MS);
    }
    await load.verify();
  });

  it('outages of a worker: its activities are given to another one within seconds', async () => {
    const { model } = system;
    const gate = model.gate();
    model.on(/^taken over/, text('lost', { before: { 0: wait(gate) } }), text('Taken over.'));
    const turn = await system.begin('taken over');
    await gate.reached;
    const [call] = await system.db.query<[{ worker_id: string }]>(
      'SELECT worker_id FROM model_calls WHERE turn_id = $1',
      [turn.turnId],
    );
    const worker = system.workerOf(call.worker_id);
    await worker.kill();
    const killed = performance.now();
    const end = await system.ended(turn);
    const took = performance.now() - killed;
    console.log(`      taken over and ended after ${(took / 1000).toFixed(1)} s`);
    expect(end.type).to.equal('turn.completed');
    expect(took).to.be.below(MAX_TAKEOVER_MS);
    gate.open();
    await worker.start();
    await system.verify();
  });

  it('outages of Temporal: no model call and no tool call is repeated', async () => {
    const { mcp, model } = system;
    const gate = model.gate();
    let back = (): void => undefined;
    const isBack = new Promise<void>((resolve) => (back = resolve));
    mcp.options.tools!.push({ name: 'slow', run: () => isBack.then(() => 'done') });
    const serverId = await system.registerMcp('tools', { url: `${mcp.url}?slow` });
    model.on(/^patient/, text('once', { before: { 0: wait(gate) } }));
    model.on(/^busy/, steps(toolUse('mcp__tools__slow'), 'Done.'));
    const called = mcp.calls.length;
    const patient = await system.send(await system.session(), 'patient');
    const busy = await system.send(await system.session({ mcp_servers: [serverId] }), 'busy');
    await Promise.all([gate.reached, eventually('the call', () => mcp.calls.length === called + 1)]);
    const requests = model.requests.length;
    await system.temporal!.kill();
    await sleep(TEMPORAL_AWAY_MS);
    await system.temporal!.restart();
    await allReady();
    gate.open();
    back();
    for (const turn of [patient, busy]) expect((await system.ended(turn)).type).to.equal('turn.completed');
    // The answer to the tool's result is the only further call.
    expect(model.requests.length).to.equal(requests + 1);
    expect(mcp.calls).to.have.length(called + 1);
  });

  it('outages of Temporal: a cancelled turn ends at once', async () => {
    const { model } = system;
    const gate = model.gate();
    model.on(/^stop/, text('never sent', { before: { 0: wait(gate) } }));
    const turn = await system.send(await system.session(), 'stop');
    await gate.reached;
    await system.temporal!.kill();
    const asked = performance.now();
    expect((await system.insist('POST', `/v1/sessions/${turn.sessionId}/cancel`)).status).to.equal(200);
    const end = await system.ended(turn);
    console.log(`      cancelled after ${Math.round(performance.now() - asked)} ms`);
    expect(end.type).to.equal('turn.cancelled');
    await system.temporal!.restart();
    gate.open();
  });

  /** Last, because the address of the database leads to the standby afterwards. */
  describe('the primary Postgres', () => {
    const standby = use(
      () => startStandby(system.postgres!),
      (started) => started.stop(),
    );

    it('an outage of the primary Postgres delays turns until the standby takes writes, ends none of them, and repeats no tool call', async () => {
      await allReady();
      const load = await startLoad(TURNS, PACE);
      await load.underWay(TURNS);
      await system.postgres!.kill();
      const { hostname, port } = new URL(standby.url);
      system.proxies!.postgres.retarget({ host: hostname, port: Number(port) });
      await eventually('the API is not ready', async () => (await ready(system.apis[0]!)) === 503);
      await sleep(READ_ONLY_MS);
      expect(await ready(system.apis[0]!)).to.equal(503);
      await standby.promote();
      await load.verify();
      expect(await ready(system.apis[0]!)).to.equal(200);
    });
  });
});
