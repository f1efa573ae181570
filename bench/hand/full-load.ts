/**
 * `npm run check -- full-load --minutes 60`: one worker with all its slots in use, its event loop and its pool of Postgres
 * connections always behind: long answers in large conversations, a tool call with a large input in each turn, and every minute
 * its main thread reads JSON for longer than a lease lasts. An API process leads, so that it could declare the worker dead.
 * Prints how close the lease came to its end, and fails if it ended once, or if a model call was made twice. Takes
 * about as long as it is told; SIGTERM ends it early. It may be paused (SIGSTOP): only time under load counts.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually.js';
import { startFaultSystem, type Turn } from '../../test/support/fault-system.js';
import type { LeaseReport, MetricsReport } from '../../test/support/lease-sampler.js';
import { steps, text, toolUse } from '../../test/support/scripted-model.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    turns: { type: 'string', default: '240' },
    slots: { type: 'string', default: '200' },
    words: { type: 'string', default: '600' },
    every: { type: 'string', default: '50' },
    pool: { type: 'string', default: '4' },
    block: { type: 'string', default: '6' },
  },
});
const LOADED_MS = Number(values.minutes) * 60_000;
const TURNS_PER_PROJECT = 80;
/** A session's conversation grows to 320,000 characters. */
const TURNS_PER_SESSION = 5;
const MESSAGE = ' It says this and that.'.repeat(1_750);
const FILE = 'A line of a file.\n'.repeat(1_000);
const BLOCK_INTERVAL_MS = 60_000;
const POLL_INTERVAL_MS = 250;
/** A longer time between two rounds is a pause. */
const MAX_ROUND_MS = 5_000;

const system = await startFaultSystem({
  workers: 0,
  ownPostgres: true,
  ownTemporal: { persistent: true },
  // A paused model is not a model that is away.
  env: { MODEL_IDLE_SECONDS: '86400', MODEL_RETRY_SECONDS: '86400', TURN_TIMEOUT_SECONDS: '86400' },
});
const { db, model } = system;
await eventually('the API leads', async () => (await db.query<unknown[]>('SELECT FROM leases')).length === 1);
const blocker = new URL('../support/block-on-signal.mjs', import.meta.url).href;
const worker = await system.addRole('worker', {
  WORKER_MAX_ACTIVITIES: values.slots,
  DATABASE_POOL_SIZE: values.pool,
  NODE_OPTIONS: `--import ${blocker}`,
  BLOCK_MS: String(Number(values.block) * 1000),
  BLOCK_WITH: 'json',
});
await eventually(
  'the worker has its lease',
  async () => (await db.query<unknown[]>('SELECT FROM workers')).length === 1,
);
const sampler = fork(fileURLToPath(new URL('../support/lease-sampler.ts', import.meta.url)), [
  system.apis[0]!.env.DATABASE_URL!,
  worker.url,
]);

/** How often each call was made, by turn and step. */
const calls = new Map<string, number>();
const answer = text(Array.from({ length: Number(values.words) }, (_, n) => `word-${n}`).join(' '), {
  every: Number(values.every),
});
const answers = steps(
  [answer, toolUse('deliver_file', { filename: 'a.txt', content: FILE }, { chunk: 1_000 })],
  answer,
);
model.on(/^load \d+/, (request, index) => {
  const call = `${/^load \d+/.exec(request.userText)![0]} step ${request.step}`;
  calls.set(call, (calls.get(call) ?? 0) + 1);
  // They would fill the memory.
  model.requests.length = 0;
  return answers(request, index);
});

/** A conversation that gets too long is summarised. */
let summaries = 0;
model.script(() => {
  summaries += 1;
  return 'A summary.';
});

let isOver = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => (isOver = true));
let loadedMs = 0;
let sent = 0;
let ended = 0;
const open = new Map<string, () => void>();

const sending = async (key: string): Promise<void> => {
  while (!isOver) {
    const sessionId = await system.session({}, key);
    for (let n = 0; n < TURNS_PER_SESSION && !isOver; n += 1) {
      const { turnId }: Turn = await system.send(sessionId, `load ${(sent += 1)}${MESSAGE}`, key);
      await new Promise<void>((resolve) => open.set(turnId, resolve));
      ended += 1;
    }
  }
};

/** Readings of the worker's metrics while it was under load. */
let metrics: MetricsReport[] = [];
const pauses: { from: number; to: number }[] = [];

/** One query for all turns that are open. Returns when the time under load is over and all turns have ended. */
const watching = async (): Promise<void> => {
  let [last, shownAt, blockedAt] = [Date.now(), 0, 0];
  while (!isOver || open.size > 0) {
    await sleep(POLL_INTERVAL_MS);
    if (!isRunning(worker.pid)) throw new Error(`the worker has ended:\n${worker.log().slice(-5_000)}`);
    const rows = await db.query<{ id: string }[]>(
      `SELECT id FROM turns WHERE id = ANY($1) AND state NOT IN ('queued', 'running')`,
      [[...open.keys()]],
    );
    for (const { id } of rows) {
      open.get(id)!();
      open.delete(id);
    }
    const now = Date.now();
    if (now - last > MAX_ROUND_MS) pauses.push({ from: last, to: now });
    else if (!isOver) loadedMs += now - last;
    last = now;
    if (loadedMs >= LOADED_MS) isOver = true;
    if (isOver && metrics.length === 0) {
      const isPaused = (at: number): boolean => pauses.some(({ from, to }) => at > from && at < to);
      metrics = (await readSamples()).metrics.filter(({ at }) => !isPaused(at));
    }
    if (!isOver && loadedMs - blockedAt >= BLOCK_INTERVAL_MS) {
      blockedAt = loadedMs;
      process.kill(worker.pid, 'SIGUSR2');
    }
    if (loadedMs - shownAt >= BLOCK_INTERVAL_MS) {
      shownAt = loadedMs;
      const samples = await readSamples();
      console.log(JSON.stringify({ minutes: minutes(), ended, ...samples.lease, ...samples.metrics.at(-1) }));
    }
  }
};

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const minutes = (): number => Math.round(loadedMs / 6_000) / 10;

async function readSamples(): Promise<{ lease: LeaseReport; metrics: MetricsReport[] }> {
  sampler.send('report');
  const [report] = (await once(sampler, 'message')) as [{ lease: LeaseReport; metrics: MetricsReport[] }];
  return report;
}

const projects = Math.ceil(Number(values.turns) / TURNS_PER_PROJECT);
const keys = await Promise.all(Array.from({ length: projects }, (_, n) => system.newKey(`load-${n}`)));
const senders = Array.from({ length: Number(values.turns) }, (_, n) => sending(keys[n % projects]!));
await Promise.all([watching(), ...senders]);

const { lease } = await readSamples();
const [recorded] = await db.query<[Record<string, number>]>(
  `SELECT (SELECT count(*)::integer FROM turns) AS turns,
     (SELECT count(*)::integer FROM turns WHERE state <> 'completed') AS not_completed,
     (SELECT count(*)::integer FROM model_calls) AS model_calls,
     (SELECT (count(*) - count(DISTINCT (turn_id, position)))::integer FROM model_calls) AS second_attempts,
     (SELECT count(*)::integer FROM tool_calls) AS tool_calls,
     (SELECT count(*)::integer FROM files) AS files`,
);
const quantiles = (name: keyof MetricsReport): { median: number; most: number } => {
  const sorted = metrics.map((reading) => reading[name]).toSorted((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)]!, most: sorted.at(-1)! };
};
const made = [...calls.values()].reduce((sum, count) => sum + count, summaries);
const twice = [...calls.values()].filter((count) => count > 1).length;
console.table({
  slots_used: quantiles('slots_used'),
  event_loop_p99_s: quantiles('loop_p99'),
  event_loop_max_s: quantiles('loop_max'),
  pool_connections_busy: quantiles('pool_busy'),
  queries_waiting_for_a_connection: quantiles('pool_waiting'),
});
const cpu_s = Math.round(metrics.at(-1)!.cpu - metrics[0]!.cpu);
console.log(JSON.stringify({ minutes: minutes(), pauses: pauses.length, cpu_s, ...lease }));
console.log(JSON.stringify({ ...recorded, calls_made: made, calls_made_twice: twice }));
for (const line of worker.log().split('\n')) if (/lease|lost their worker/.test(line)) console.log(line);
const isKept = lease.declared_dead === 0 && lease.leases === 1;
const isOnce = twice === 0 && made === recorded.model_calls && recorded.not_completed === 0;
sampler.disconnect();
await system.close();
process.exit(isKept && isOnce ? 0 : 1);
