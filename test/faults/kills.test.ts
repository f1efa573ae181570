import { expect } from 'chai';
import { prepareLoad, type Load, type Pace } from '../support/fault-load.js';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';

/** `npm run test:faults` is the long form; `npm test` has a short one. */
const LONG = process.env.FAULTS === 'long';
const TURNS = LONG ? 40 : 6;
const AWAY_MS = LONG ? 20_000 : 2_000;
const PACE: Pace = LONG ? { words: 60, everyMs: 100 } : { words: 15, everyMs: 100 };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe(`a part is killed under load (${TURNS} turns, ${AWAY_MS / 1000} s away)`, function () {
  if (LONG) this.timeout(240_000);
  let system: FaultSystem;
  let startLoad: (turns: number, pace: Pace) => Promise<Load>;
  let load: Load;

  before(async () => {
    system = await startFaultSystem({ apis: 2, workers: LONG ? 2 : 1, ownPostgres: true, ownTemporal: true });
    startLoad = await prepareLoad(system);
  });
  after(() => system.close());
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

  it('every worker', async () => {
    await Promise.all(system.workers.map((worker) => worker.kill()));
    await awayAndBack(() => Promise.all(system.workers.map((worker) => worker.start())));
  });

  it('every API process', async () => {
    await Promise.all(system.apis.map((api) => api.kill()));
    await awayAndBack(() => Promise.all(system.apis.map((api) => api.start())));
  });

  it('Postgres: messages are refused for now', async () => {
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

  it('Temporal: messages are accepted and run later', async () => {
    const sessionId = await system.session();
    await system.temporal!.kill();
    await awayAndBack(
      () => system.temporal!.restart(),
      async () => {
        const turn = await system.send(sessionId, 'Hello');
        void system.watch(turn);
      },
    );
    expect((await system.history(sessionId)).at(-1)).to.include({ type: 'turn.completed' });
  });
});
