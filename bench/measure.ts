import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Database } from '../src/db/db.js';
import type { FaultSystem } from '../test/support/fault-system.js';
import { memoryOf } from '../test/support/memory.js';

export { memoryOf, pause };

/** The p-quantile of samples, 0 ≤ p ≤ 1. */
export function quantile(samples: number[], p: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

export const median = (samples: number[]): number => quantile(samples, 0.5);

/** Times in ms as they are printed. */
export function shown(times: number[], digits = 0): string {
  const [p50, p95, longest] = [median(times), quantile(times, 0.95), Math.max(...times)].map((ms) =>
    ms.toFixed(digits),
  );
  return `p50 ${p50} ms, p95 ${p95} ms, longest ${longest} ms`;
}

/** The median and the p95 of times beside those of others, as they are printed. */
export function ratios(times: number[], others: number[]): string {
  const [p50, p95] = [0.5, 0.95].map((p) => quantile(times, p) / quantile(others, p));
  return `p50 ${p50!.toFixed(2)} ×, p95 ${p95!.toFixed(2)} ×`;
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Milliseconds of each call of `work`, one after the other. */
export async function timedEach(count: number, work: (n: number) => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < count; n += 1) took.push(await timed(() => work(n)));
  return took;
}

/** The results of `work` on 0, 1 and so on, `atOnce` at a time. */
export const inParallel = <Result>(
  atOnce: number,
  count: number,
  work: (n: number) => Promise<Result>,
): Promise<Result[]> => pLimit(atOnce).map(Array(count).keys(), work);

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(20);
}

/** The `count` that a query gives. */
export async function count(db: Database, query: string): Promise<number> {
  const [counted] = await db.query<[{ count: string }]>(query);
  return Number(counted.count);
}

/** Connections to the database that do something, beside the one that asks. */
export const busyConnections = (db: Database): Promise<number> =>
  count(
    db,
    `SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
  );

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']).toString());

/** CPU seconds that a process has used so far. */
export function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime, stime and those of children that have ended.
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0) / TICKS;
}

/** CPU seconds of a Postgres: its main process and those of the connections. */
export function cpuOfPostgres(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return cpuOf(pid) + children.reduce((sum, child) => sum + cpuOfConnection(Number(child)), 0);
}

/** A connection may end while we read: then the main process adopts what it used. */
function cpuOfConnection(pid: number): number {
  try {
    return cpuOf(pid);
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
    throw error;
  }
}

/** What a system with servers of its own has used so far: CPU seconds of its parts, and figures of its Postgres. */
export async function usageOf({ db, apis, workers, temporal, postgres }: FaultSystem) {
  const [figures] = await db.query<Record<'commits' | 'wal' | 'size' | 'updates' | 'updatesInPlace', number>[]>(
    `SELECT xact_commit::float AS commits, (pg_current_wal_lsn() - '0/0')::float AS wal,
       pg_database_size(current_database())::float AS size, n_tup_upd::float AS updates,
       n_tup_hot_upd::float AS "updatesInPlace"
     FROM pg_stat_database, pg_stat_user_tables WHERE datname = current_database() AND relname = 'turns'`,
  );
  return {
    ...figures!,
    api: cpuOf(apis[0]!.pid),
    worker: cpuOf(workers[0]!.pid),
    temporal: cpuOf(temporal!.pid),
    postgres: cpuOfPostgres(postgres!.pid),
    seconds: performance.now() / 1000,
  };
}

export type Usage = Awaited<ReturnType<typeof usageOf>>;

/** What was used between two moments beside what an idle system uses in that time. */
export function usedBetween(before: Usage, after: Usage, idle: [before: Usage, after: Usage]): Usage {
  const seconds = after.seconds - before.seconds;
  const share = seconds / (idle[1].seconds - idle[0].seconds);
  const names = Object.keys(before) as (keyof Usage)[];
  const used = names.map((name) => [name, after[name] - before[name] - (idle[1][name] - idle[0][name]) * share]);
  return { ...(Object.fromEntries(used) as Usage), seconds };
}

/** Watches the resident memory of a process; `stop` returns its MiB before and at most. */
export function watchMemory(pid: number): { stop(): { before: number; most: number } } {
  const before = memoryOf(pid, 'VmRSS');
  let most = before;
  const sampling = setInterval(() => (most = Math.max(most, memoryOf(pid, 'VmRSS'))), 20);
  return {
    stop() {
      clearInterval(sampling);
      return { before, most };
    },
  };
}

/** Samples of what is held, as they are printed. */
export const held = (samples: number[]): string => `${median(samples)} (most ${Math.max(...samples)})`;

/** The slots for activities that a worker uses at this moment. */
export async function usedSlots(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.matchAll(/^temporal_worker_task_slots_used\{([^}]*)\} (\d+)/gm);
  return [...lines].reduce(
    (sum, [, labels, value]) => sum + (labels!.includes('ActivityWorker') ? Number(value) : 0),
    0,
  );
}
