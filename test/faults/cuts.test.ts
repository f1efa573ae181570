import { prepareLoad } from '../support/fault-load.js';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';

const LONG = process.env.FAULTS === 'long';
const PACE = LONG ? { words: 60, everyMs: 100 } : { words: 20, everyMs: 100 };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Connections break while everything lives: between the processes and Postgres, and between them and Temporal. */
describe('connections are cut under load', () => {
  let system: FaultSystem;
  before(async () => {
    system = await startFaultSystem({ apis: 2, proxies: true });
  });
  after(() => system.close());

  it('any of them, and the LISTEN connection on its own: nothing is lost', async () => {
    const load = await (await prepareLoad(system))(LONG ? 40 : 8, PACE);
    await load.underWay(4);
    for (let round = 0; round < (LONG ? 10 : 4); round += 1) {
      system.proxies!.postgres.cut();
      await sleep(300);
      system.proxies!.temporal.cut();
      await sleep(300);
      await system.db.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'listen %'`,
      );
      await sleep(300);
    }
    await load.verify();
  });
});
