/**
 * What a turn costs each part, as docs/operations/sizing.md counts it: `npx tsx bench/sizing.ts`. An API, a worker, Postgres
 * and a Temporal dev server, all on this machine; 8 turns at a time.
 */
import { startFaultSystem } from '../test/support/fault-system.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../test/support/services.js';
import { message, text, toolUse } from '../test/support/scripted-model.js';
import { cpuOf, cpuOfPostgres } from './support/run.js';

const AT_ONCE = 8;
/** A connection that is idle reports its statistics to Postgres after 10 s. */
const SETTLED_MS = 11_000;
const KINDS = [
  { content: 'no tool', turns: 300 },
  { content: 'one tool', turns: 300 },
  { content: 'a call of 28 s', turns: 8 },
];

await mochaGlobalSetup();
const system = await startFaultSystem({ ownPostgres: true, ownTemporal: { persistent: true } });
const { db, model } = system;
const [api, worker] = [system.apis[0]!, system.workers[0]!];

interface Counters {
  api: number;
  worker: number;
  temporal: number;
  postgres: number;
  commits: number;
  wal: number;
  size: number;
  updates: number;
  in_place: number;
}

async function counters(): Promise<Counters> {
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const [row] = await db.query<Pick<Counters, 'commits' | 'wal' | 'size' | 'updates' | 'in_place'>[]>(
    `SELECT xact_commit::float AS commits, (pg_current_wal_lsn() - '0/0')::float AS wal,
       pg_database_size(current_database())::float AS size, n_tup_upd::float AS updates, n_tup_hot_upd::float AS in_place
     FROM pg_stat_database, pg_stat_user_tables WHERE datname = current_database() AND relname = 'turns'`,
  );
  const { pid } = system.postgres!;
  return {
    ...row!,
    api: cpuOf(api.pid),
    worker: cpuOf(worker.pid),
    temporal: cpuOf(system.temporal!.pid),
    postgres: cpuOfPostgres(pid),
  };
}

/** Requests of the worker to Temporal so far, by operation. */
async function requests(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const metrics = await (await fetch(`${worker.url}/metrics`)).text();
  for (const [, labels, count] of metrics.matchAll(/^temporal_request_total\{(.*)\} (\d+)/gm)) {
    const name = /operation="(\w+)"/.exec(labels!)![1]!;
    counts.set(name, (counts.get(name) ?? 0) + Number(count));
  }
  return counts;
}

async function run(content: string, turns: number): Promise<void> {
  let left = turns;
  const sender = async (): Promise<void> => {
    while (left-- > 0) {
      const turn = await system.send(await system.session(), content);
      await (
        await system.stream(turn)
      ).ended;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
}

try {
  model.on(/no tool/, text('ok'));
  model.on(/one tool/, (request) =>
    request.body.messages.some(({ role }) => role === 'assistant')
      ? text('done')
      : message([toolUse('list_files', {})]),
  );
  model.on(/28 s/, text('one two three four five', { every: 7_000 }));
  await run('no tool', 50);
  const idle = await counters();
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const afterIdle = await counters();
  const idleSeconds = (10_000 + SETTLED_MS) / 1000;
  const idleRate = (key: keyof Counters): number => (afterIdle[key] - idle[key]) / idleSeconds;
  console.log(`idle: ${idleRate('commits').toFixed(1)} commits/s`);
  for (const { content, turns } of KINDS) {
    const [before, asked] = [await counters(), await requests()];
    const began = performance.now();
    await run(content, turns);
    const seconds = (performance.now() - began) / 1000;
    const [after, answered] = [await counters(), await requests()];
    const each = (key: keyof Counters): number =>
      (after[key] - before[key] - idleRate(key) * (seconds + SETTLED_MS / 1000)) / turns;
    const ms = (key: keyof Counters): string => (each(key) * 1000).toFixed(1);
    const sent = [...answered]
      .map(([name, count]) => ({ name, count: (count - (asked.get(name) ?? 0)) / turns }))
      .filter(({ name, count }) => count > 0.1 && !name.startsWith('Poll'));
    console.log(`a turn with ${content} (${(turns / seconds).toFixed(1)}/s):`);
    console.log(
      `  CPU ms: API ${ms('api')}, worker ${ms('worker')}, Temporal ${ms('temporal')}, Postgres ${ms('postgres')}`,
    );
    console.log(`  Postgres: ${each('commits').toFixed(1)} commits, ${(each('wal') / 1024).toFixed(1)} KiB of WAL,`);
    console.log(
      `    ${(each('size') / 1024).toFixed(1)} KiB stored, ${each('updates').toFixed(1)} updates of the turn's row,`,
    );
    console.log(`    ${((each('in_place') / each('updates')) * 100).toFixed(0)} % of them in place`);
    console.log(`  worker to Temporal: ${sent.map(({ name, count }) => `${name} ${count.toFixed(1)}`).join(', ')}`);
  }
} finally {
  await system.close();
  await mochaGlobalTeardown();
}
