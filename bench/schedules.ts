/**
 * Measures schedules that fire in one minute, or in as many seconds as given: how late their turns start, and what other
 * turns notice meanwhile. `npx tsx bench/schedules.ts [schedules] [seconds]`, after `npm run build`.
 */
import { execFileSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { createKey } from '../src/projects/api-keys.js';
import { createSchedule, newSchedule } from '../test/support/schedules.js';
import { row, withTurnService } from './support/in-process.js';
import { median } from './support/run.js';

const SCHEDULES = Number(process.argv[2] ?? 1000);
const PER_PROJECT = 100;
const SPREAD_MS = Number(process.argv[3] ?? 60) * 1000;

/** CPU seconds so far of this process, and of the servers that it started. */
function cpuSeconds(): Record<string, number> {
  const used: Record<string, number> = {};
  const family = new Set([process.pid]);
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,cputimes=,comm=', '--sort=pid'], { encoding: 'utf8' });
  for (const line of lines.trim().split('\n')) {
    const [pid, parent, seconds, name] = line.trim().split(/\s+/) as [string, string, string, string];
    if (!family.has(Number(pid)) && !family.has(Number(parent))) continue;
    family.add(Number(pid));
    used[name] = (used[name] ?? 0) + Number(seconds);
  }
  return used;
}

await withTurnService({}, async (service) => {
  service.model.on(/Report/, 'Done.');
  service.model.on(/Other/, 'Done.');
  const measureOther = async (): Promise<number> => {
    const began = performance.now();
    await service.run(await service.session(), 'Other');
    return performance.now() - began;
  };
  for (let warm = 0; warm < 10; warm += 1) await measureOther();
  const before = [];
  for (let n = 0; n < 20; n += 1) before.push(await measureOther());

  const first = Date.now() + 30_000 + SCHEDULES * 40;
  for (let made = 0; made < SCHEDULES; made += PER_PROJECT) {
    const { key } = await createKey(service.db, { project: `bench-${made}` });
    const api = service.as(key);
    const bodies = Array.from({ length: Math.min(PER_PROJECT, SCHEDULES - made) }, (_, n) =>
      newSchedule({ at: new Date(first + ((made + n) * SPREAD_MS) / SCHEDULES).toISOString() }, 'scripted'),
    );
    for (const body of bodies) await createSchedule(api, body);
  }
  row('seconds left before the first time', ((first - Date.now()) / 1000).toFixed(0));
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, first - Date.now())));
  const cpuBefore = cpuSeconds();
  const during = [];
  const left = async (): Promise<number> => {
    const [{ count }] = await service.db.query<[{ count: number }]>(
      `SELECT count(*)::integer FROM schedules WHERE state = 'active'`,
    );
    return count;
  };
  while ((await left()) > 0) during.push(await measureOther());
  const cpu = Object.entries(cpuSeconds()).map(([name, seconds]) => [name, seconds - (cpuBefore[name] ?? 0)] as const);
  const late = (
    await service.db.query<{ ms: number }[]>(
      `SELECT extract(epoch FROM started_at - scheduled_at)::double precision * 1000 AS ms FROM schedule_runs
       WHERE state = 'started' ORDER BY ms`,
    )
  ).map(({ ms }) => ms);
  row('turns started', `${late.length} of ${SCHEDULES}`);
  row('late by, median / last', `${median(late).toFixed(0)} / ${late.at(-1)!.toFixed(0)} ms`);
  row('another turn before, median', `${median(before).toFixed(0)} ms`);
  row(
    'another turn meanwhile, median / longest',
    `${median(during).toFixed(0)} / ${Math.max(...during).toFixed(0)} ms`,
  );
  row(
    'CPU seconds',
    cpu
      .filter(([, seconds]) => seconds > 0)
      .map(([name, seconds]) => `${name} ${seconds}`)
      .join(', '),
  );
  row('load average', loadavg()[0]!.toFixed(1));
});
