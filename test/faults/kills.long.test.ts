import { prepareLoad } from '../support/fault-load.js';
import { useFaultSystem } from '../support/use.js';

const TURNS = 6;
const PACE = { words: 40, everyMs: 100 };

/** Each part is away for longer, under more load, in outages.long.test.ts. */
describe('every part is killed once under load', () => {
  const system = useFaultSystem({ ownPostgres: true, ownTemporal: true });

  it('no turn is lost, and no tool is called twice', async () => {
    const load = await (await prepareLoad(system))(TURNS, PACE);
    await load.underWay(TURNS);
    for (const role of [...system.workers, ...system.apis]) {
      await role.kill();
      await role.start();
    }
    for (const server of [system.temporal!, system.postgres!]) {
      await server.kill();
      await server.restart();
    }
    await load.verify();
  });
});
