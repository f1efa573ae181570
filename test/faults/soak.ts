/**
 * `npm run soak -- --minutes 15`: turns under way all the time, a random part killed every 10 to 20 s, brought back 1 to
 * 8 s later; then the checker judges. Prints figures, and fails when anything was lost or came twice.
 */
import { parseArgs } from 'node:util';
import { prepareLoad, type Load } from '../support/fault-load.js';
import { startFaultSystem, type FaultSystem } from '../support/fault-system.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/services.js';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '15' } } });
const MINUTES = Number(values.minutes);
const WAVE = 10;
const PACE = { words: 20, everyMs: 100 };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const between = (low: number, high: number): number => low + Math.random() * (high - low);

interface Victim {
  name: string;
  kill(): Promise<void>;
  back(): Promise<void>;
}

function victims(system: FaultSystem): Victim[] {
  const roles = [...system.apis, ...system.workers].map((each) => ({
    name: each.role,
    kill: () => each.kill(),
    back: () => each.start(),
  }));
  const { postgres, temporal } = system;
  return [
    ...roles,
    { name: 'Postgres', kill: () => postgres!.kill(), back: () => postgres!.restart() },
    { name: 'Temporal', kill: () => temporal!.kill(), back: () => temporal!.restart() },
  ];
}

await mochaGlobalSetup();
const system = await startFaultSystem({ apis: 2, workers: 2, ownPostgres: true, ownTemporal: true });
const startLoad = await prepareLoad(system);
const until = performance.now() + MINUTES * 60_000;
const kills: Record<string, number> = {};
const loads: Load[] = [];
let longestRecovery = 0;

const killing = async (): Promise<void> => {
  while (performance.now() < until) {
    await sleep(between(10_000, 20_000));
    const all = victims(system);
    const victim = all[Math.floor(Math.random() * all.length)]!;
    kills[victim.name] = (kills[victim.name] ?? 0) + 1;
    await victim.kill();
    await sleep(between(1000, 8000));
    await victim.back();
    const back = performance.now();
    const [{ id }] = await system.db.query<[{ id: string }]>('SELECT max(id) AS id FROM turns');
    await system.ended({ sessionId: await sessionOf(id), turnId: id }, 120_000);
    longestRecovery = Math.max(longestRecovery, performance.now() - back);
  }
};
const sessionOf = async (turnId: string): Promise<string> => {
  const [{ session_id }] = await system.db.query<[{ session_id: string }]>(
    'SELECT session_id FROM turns WHERE id = $1',
    [turnId],
  );
  return session_id;
};
const loading = async (): Promise<void> => {
  while (performance.now() < until) {
    const load = await startLoad(WAVE, PACE);
    loads.push(load);
    await Promise.all((await load.turns).map((turn) => system.ended(turn, 180_000)));
  }
};

let fault: unknown;
try {
  await Promise.all([killing(), loading()]);
  for (const load of loads) await load.verify(180_000);
} catch (error) {
  fault = error;
}
console.log(
  JSON.stringify({
    minutes: MINUTES,
    turns: loads.length * WAVE,
    kills: Object.values(kills).reduce((sum, n) => sum + n, 0),
    killed: kills,
    longest_recovery_s: Math.round(longestRecovery / 100) / 10,
    ...(fault === undefined ? { lost: 0, duplicated: 0 } : {}),
  }),
);
if (fault !== undefined) console.error(fault);
await system.close();
await mochaGlobalTeardown();
process.exitCode = fault === undefined ? 0 : 1;
