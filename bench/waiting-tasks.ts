/**
 * Measures turns that wait for tasks of an MCP server which asks to be polled once a minute: what the waiting costs in CPU,
 * transactions and Temporal actions, and what is held between two polls. `npx tsx bench/waiting-tasks.ts [turns] [seconds]`, after
 * `npm run build`.
 */
import { startFaultSystem, type Turn } from '../test/support/fault-system.js';
import { steps, toolUse } from '../test/support/scripted-model.js';
import { row } from './support/in-process.js';
import { cpuOf, cpuOfPostgres, median } from './support/run.js';

const TURNS = Number(process.argv[2] ?? 1000);
const WINDOW_MS = Number(process.argv[3] ?? 120) * 1000;
const REST_MS = 20_000;
const PARALLEL = 20;
const SAMPLE_MS = 1000;
const POLL_MS = 60_000;
/** Past the minute after which each workflow continues as new and polls at once. */
const SETTLE_MS = 75_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const system = await startFaultSystem({ ownPostgres: true, ownTemporal: { persistent: false } });
const [worker] = system.workers as [(typeof system.workers)[0]];
Object.assign(system.mcp.options, {
  tasks: true,
  tools: [{ name: 'build', pollInterval: POLL_MS, task: () => undefined }],
});
const server = await system.insist('POST', '/v1/mcp-servers', { name: 'ops', url: system.mcp.url });
await system.db.query('UPDATE projects SET max_running_turns = $1', [TURNS + PARALLEL]);
system.model.on(/Go/, steps(toolUse('mcp__ops__build'), 'Done.'));
const start = async (): Promise<Turn> =>
  system.send(await system.session({ mcp_servers: [server.body.id as string] }), 'Go');

async function count(query: string): Promise<number> {
  const [counted] = await system.db.query<[{ count: number }]>(query);
  return counted.count;
}

const waitingTurns = (): Promise<number> =>
  count(`SELECT count(*)::integer AS count FROM turns WHERE state = 'running' AND tasks_running > 0`);
const turnsOnTheirWay = (): Promise<number> =>
  count(`SELECT count(*)::integer AS count FROM turns WHERE state IN ('queued', 'running') AND tasks_running = 0`);
const busyConnections = (): Promise<number> =>
  count(
    `SELECT count(*)::integer AS count FROM pg_stat_activity
     WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
  );

async function usedSlots(): Promise<number> {
  const text = await (await fetch(`${worker.url}/metrics`)).text();
  const lines = text.matchAll(/^temporal_worker_task_slots_used\{([^}]*)\} (\d+)/gm);
  return [...lines].reduce(
    (sum, [, labels, value]) => sum + (labels!.includes('ActivityWorker') ? Number(value) : 0),
    0,
  );
}

/** What has been used so far. */
async function totals() {
  return {
    polls: system.mcp.log.filter((method) => method === 'tasks/get').length,
    worker: cpuOf(worker.pid),
    postgres: cpuOfPostgres(system.postgres!.pid),
    temporal: cpuOf(system.temporal!.pid),
    transactions: await count(
      'SELECT xact_commit::integer AS count FROM pg_stat_database WHERE datname = current_database()',
    ),
    at: performance.now(),
  };
}

type Totals = Awaited<ReturnType<typeof totals>>;

/** Use per hour between two totals. */
function perHour(before: Totals, after: Totals, name: keyof Totals): number {
  return ((after[name] - before[name]) / (after.at - before.at)) * 3_600_000;
}

/** What is held, once a second. The service at rest is sampled too: its metrics alone take 17 statements each time. */
async function sample(ms: number) {
  const samples: Record<'slots' | 'postgres' | 'mcp', number[]> = { slots: [], postgres: [], mcp: [] };
  const end = performance.now() + ms;
  while (performance.now() < end) {
    await pause(SAMPLE_MS);
    samples.slots.push(await usedSlots());
    samples.postgres.push(await busyConnections());
    samples.mcp.push(await system.mcp.connections());
  }
  return samples;
}

const restBefore = await totals();
await sample(REST_MS);
const restAfter = await totals();

// No faster than the worker takes them: calls that wait too long for it end without a task.
const turns: Turn[] = [];
const began = performance.now();
while (turns.length < TURNS) {
  turns.push(...(await Promise.all(Array.from({ length: PARALLEL }, start))));
  while ((await turnsOnTheirWay()) > 0) await pause(200);
}
const waiting = await waitingTurns();
row(`${waiting} of ${turns.length} turns wait for tasks`, `after ${((performance.now() - began) / 1000).toFixed(1)} s`);
await pause(SETTLE_MS);

const before = await totals();
const samples = await sample(WINDOW_MS);
const after = await totals();

const shown = (values: number[]): string => `${median(values)} (most ${Math.max(...values)})`;
row('  slots of the worker in use, once a second', shown(samples.slots));
row('  database connections that do something', shown(samples.postgres));
row('  connections to the MCP server', shown(samples.mcp));
row('for each turn and hour:', 'beside what an idle service uses');
for (const [name, title, digits] of [
  ['polls', 'polls', 1],
  ['worker', 'CPU seconds of the worker', 2],
  ['postgres', 'CPU seconds of Postgres', 2],
  ['temporal', 'CPU seconds of Temporal', 2],
  ['transactions', 'transactions', 0],
] as const) {
  const net = perHour(before, after, name) - perHour(restBefore, restAfter, name);
  row(`  ${title}`, (net / waiting).toFixed(digits));
}
const { raw } = await system.client.workflow.getHandle(turns[0]!.turnId).describe();
row('  history events of a turn', String(raw.workflowExecutionInfo?.historyLength), 'the same however long it waits');
row(
  '  attempts in this run: one Temporal action each',
  String(raw.pendingActivities?.[0]?.attempt),
  'one for each poll',
);
await system.close();
process.exit(0);
