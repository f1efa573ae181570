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
const kills: { name: string; at: string; backAt: string }[] = [];
const loads: Load[] = [];

const killing = async (): Promise<void> => {
  while (performance.now() < until) {
    await sleep(between(10_000, 20_000));
    const all = victims(system);
    const victim = all[Math.floor(Math.random() * all.length)]!;
    const at = new Date().toISOString();
    await victim.kill();
    await sleep(between(1000, 8000));
    await victim.back();
    kills.push({ name: victim.name, at, backAt: new Date().toISOString() });
  }
};

/**
 * Seconds from a part's return to the end of the last turn that was open when it was killed, the longest by part: what
 * such a turn had still to stream (up to 5 s) and whatever was killed after it are part of it.
 */
const recoveries = async (): Promise<Record<string, number>> => {
  const rows: { name: string; seconds: number }[] = await system.db.query(
    `SELECT name, round(max(extract(epoch FROM greatest(ended_at - back_at, '0 s'))), 1)::float AS seconds
     FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) AS kill(name, at, back_at)
     JOIN turns ON queued_at <= at AND ended_at > at GROUP BY name`,
    [kills.map(({ name }) => name), kills.map(({ at }) => at), kills.map(({ backAt }) => backAt)],
  );
  return Object.fromEntries(rows.map(({ name, seconds }) => [name, seconds]));
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
  const ends = await system.verify(180_000);
  for (const load of loads) await load.check(ends);
} catch (error) {
  fault = error;
}
const recovered = await recoveries();
console.log(
  JSON.stringify({
    minutes: MINUTES,
    turns: loads.length * WAVE,
    kills: kills.length,
    killed: Object.fromEntries(victims(system).map(({ name }) => [name, kills.filter((k) => k.name === name).length])),
    longest_recovery_s: Math.max(0, ...Object.values(recovered)),
    longest_recovery_by_part_s: recovered,
    ...(fault === undefined ? { lost: 0, duplicated: 0 } : {}),
  }),
);
if (fault !== undefined) console.error(fault);
await system.close();
await mochaGlobalTeardown();
process.exitCode = fault === undefined ? 0 : 1;
