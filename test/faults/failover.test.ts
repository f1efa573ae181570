import { expect } from 'chai';
import { prepareLoad } from '../support/fault-load.js';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';
import { startStandby, type Standby } from '../support/standby.js';

/** How long the address already leads to the standby while it still refuses writes. */
const READ_ONLY_MS = 2_000;
const TURNS = 12;

/**
 * The primary dies under load; its address leads to the standby, which refuses writes until it is promoted. The standby
 * is synchronous: what was acknowledged is there.
 */
describe('a failover of Postgres', () => {
  let system: FaultSystem;
  let standby: Standby;
  before(async () => {
    system = await startFaultSystem({
      ownPostgres: true,
      proxies: true,
      queriesThroughProxy: true,
      apis: 1,
      workers: 1,
      env: { LOG_LEVEL: 'warn' },
    });
    standby = await startStandby(system.postgres!);
  });
  after(async () => {
    await system.close();
    await standby.stop();
  });

  it('delays turns, ends none of them, and repeats no tool call', async () => {
    const startLoad = await prepareLoad(system);
    const load = await startLoad(TURNS, { words: 20, everyMs: 100 });
    await load.underWay(TURNS);
    await system.postgres!.kill();
    const { hostname, port } = new URL(standby.url);
    system.proxies!.postgres.retarget({ host: hostname, port: Number(port) });
    const ready = async (): Promise<number> => (await fetch(`${system.apis[0]!.url}/readyz`)).status;
    await new Promise((resolve) => setTimeout(resolve, READ_ONLY_MS));
    expect(await ready()).to.equal(503);
    await standby.promote();
    await load.verify();
    expect(await ready()).to.equal(200);
  });
});
