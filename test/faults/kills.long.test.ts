import { prepareLoad } from '../support/fault-load.js';
import { asVictim, killAndStart } from '../support/random-killer.js';
import { useFaultSystem } from '../support/use.js';

const TURNS = 6;
const PACE = { words: 40, everyMs: 100 };

/** Each part is away for longer, under more load, in outages.long.test.ts. */
describe('every part is killed once under load', () => {
  const system = useFaultSystem({ ownPostgres: true, ownTemporal: true });

  it('no turn is lost, and no tool is called twice', async () => {
    const load = await (await prepareLoad(system))(TURNS, PACE);
    await load.underWay(TURNS);
    const servers = [asVictim(() => system.temporal!), asVictim(() => system.postgres!)];
    for (const each of [...system.workers, ...system.apis, ...servers]) await killAndStart(each);
    await load.verify();
  });
});
