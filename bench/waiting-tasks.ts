/**
 * Measures turns that wait for tasks of an MCP server which asks to be polled once a minute: what the waiting costs in CPU,
 * transactions and Temporal actions, and what is held between two polls. Then all tasks end, and each turn must complete with
 * the result of its own. `npx tsx bench/waiting-tasks.ts [turns] [seconds]`, after
 * `npm run build`.
 */
import { startFaultSystem, type Turn } from '../test/support/fault-system.js';
import type { TestTask } from '../test/support/mcp-server.js';
import { toolUse } from '../test/support/scripted-model.js';
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
const tasks: TestTask[] = [];
const [worker] = system.workers as [(typeof system.workers)[0]];
Object.assign(system.mcp.options, {
  tasks: true,
  tools: [{ name: 'build', pollInterval: POLL_MS, task: (task: TestTask) => tasks.push(task) }],
});
const server = await system.insist('POST', '/v1/mcp-servers', { name: 'ops', url: system.mcp.url });
await system.db.query('UPDATE projects SET max_running_turns = $1', [TURNS + PARALLEL]);
system.model.on(/^Go/, ({ userText, step }) =>
  step === 0 ? toolUse('mcp__ops__build', { number: Number(userText.split(' ')[1]) }) : 'Done.',
);
const start = async (_: unknown, index: number): Promise<Turn> =>
  system.send(await system.session({ mcp_servers: [server.body.id as string] }), `Go ${turns.length + index}`);

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

async function inParallel<T>(works: (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  const left = [...works.entries()];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results[next[0]] = await next[1]();
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return results;
}

/** Attempts of all polls so far in the current runs. Temporal bills each of them as an action. */
async function attempts(): Promise<number> {
  const of = async ({ turnId }: Turn): Promise<number> => {
    const { raw } = await system.client.workflow.getHandle(turnId).describe();
    return raw.pendingActivities?.[0]?.attempt ?? 0;
  };
  return (await inParallel(turns.map((turn) => () => of(turn)))).reduce((sum, one) => sum + one, 0);
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
function perHour(before: Totals, after: Totals, name: keyof Totals | number): number {
  const used = typeof name === 'number' ? name : after[name] - before[name];
  return (used / (after.at - before.at)) * 3_600_000;
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

const attemptsBefore = await attempts();
const before = await totals();
const samples = await sample(WINDOW_MS);
const after = await totals();
const actions = (await attempts()) - attemptsBefore;

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
row('  Temporal actions', (perHour(before, after, actions) / waiting).toFixed(1), 'attempts of the poll');

const ending = performance.now();
for (const { arguments: input, end } of tasks) await end('completed', `Built ${String(input.number)}.`);
while ((await count(`SELECT count(*)::integer AS count FROM turns WHERE state IN ('queued', 'running')`)) > 0) {
  await pause(SAMPLE_MS);
}
const histories = await inParallel(
  turns.map(
    ({ sessionId }) =>
      () =>
        system.history(sessionId),
  ),
);
const right = histories.filter((events, number) => {
  const results = events.filter(({ type }) => type === 'agent.tool_result');
  const isOwn = results.length === 1 && results[0]!.content === `Built ${number}.`;
  return isOwn && events.at(-1)!.type === 'turn.completed';
}).length;
const called = new Set(system.mcp.calls.map(({ arguments: input }) => input.number)).size;
row(
  `${right} of ${turns.length} turns completed with their own result, once`,
  `in ${((performance.now() - ending) / 1000).toFixed(1)} s`,
);
row('  calls that reached the server', `${system.mcp.calls.length}, for ${called} turns`);
const isRight = right === TURNS && called === TURNS && system.mcp.calls.length === TURNS;
await system.close();
process.exit(isRight ? 0 : 1);
