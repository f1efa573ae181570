import type { FaultSystem, Turn } from '../../test/support/fault-system.js';
import type { TestTask } from '../../test/support/mcp-server.js';
import { toolUse } from '../../test/support/scripted-model.js';
import {
  busyConnections,
  count,
  held,
  inParallel,
  pause,
  timed,
  until,
  usageOf,
  usedBetween,
  usedSlots,
} from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const REST_MS = 20_000;
const PARALLEL = 20;
const SAMPLE_MS = 1000;
const POLL_MS = 60_000;
/** Past the minute after which each workflow continues as new and polls at once. */
const SETTLE_MS = 75_000;

export default scenario({
  measures:
    'turns that wait for tasks of an MCP server which asks to be polled once a minute: what the waiting costs, and what is held between two polls; fails unless each turn then completes with its own result, after one call',
  options: { turns: 1000, seconds: 120 },
  async run(bench, { turns: wanted, seconds }) {
    const system = await bench.system({ ownPostgres: true, ownTemporal: { persistent: false } });
    const { db, mcp, model } = system;
    const tasks: TestTask[] = [];
    const turns: Turn[] = [];
    Object.assign(mcp.options, {
      tasks: true,
      tools: [{ name: 'build', pollInterval: POLL_MS, task: (task: TestTask) => tasks.push(task) }],
    });
    const server = await system.insist('POST', '/v1/mcp-servers', { name: 'ops', url: mcp.url });
    await db.query('UPDATE projects SET max_running_turns = $1', [wanted + PARALLEL]);
    model.on(/^Go/, ({ userText, step }) =>
      step === 0 ? toolUse('mcp__ops__build', { number: Number(userText.split(' ')[1]) }) : 'Done.',
    );
    const start = async (_: unknown, index: number): Promise<Turn> =>
      system.send(await system.session({ mcp_servers: [server.body.id as string] }), `Go ${turns.length + index}`);
    /** Attempts of all polls so far in the current runs. Temporal bills each of them as an action. */
    const attempts = async (): Promise<number> => {
      const each = await ofAll(turns, async ({ turnId }) => {
        const { raw } = await system.client.workflow.getHandle(turnId).describe();
        return raw.pendingActivities?.[0]?.attempt ?? 0;
      });
      return each.reduce((sum, one) => sum + one, 0);
    };
    const polls = (): number => mcp.log.filter((method) => method === 'tasks/get').length;

    const restBefore = await usageOf(system);
    await sample(system, REST_MS);
    const rest = [restBefore, await usageOf(system)] as [typeof restBefore, typeof restBefore];

    // No faster than the worker takes them: calls that wait too long for it end without a task.
    const open = `SELECT count(*) FROM turns WHERE state IN ('queued', 'running')`;
    const startedMs = await timed(async () => {
      while (turns.length < wanted) {
        turns.push(...(await Promise.all(Array.from({ length: PARALLEL }, start))));
        await until(async () => (await count(db, `${open} AND tasks_running = 0`)) === 0);
      }
    });
    const waiting = await count(db, `${open} AND tasks_running > 0`);
    row(`${waiting} of ${turns.length} turns wait for tasks`, `after ${(startedMs / 1000).toFixed(1)} s`);
    await pause(SETTLE_MS);

    const attemptsBefore = await attempts();
    const before = await usageOf(system);
    const polledBefore = polls();
    const samples = await sample(system, seconds * 1000);
    const used = usedBetween(before, await usageOf(system), rest);
    const actions = (await attempts()) - attemptsBefore;
    const perHour = (value: number, digits: number): string =>
      ((value / used.seconds / waiting) * 3600).toFixed(digits);

    row('  slots of the worker in use, once a second', held(samples.slots));
    row('  database connections that do something', held(samples.postgres));
    row('  connections to the MCP server', held(samples.mcp));
    row('for each turn and hour:', 'beside what an idle service uses');
    row('  polls', perHour(polls() - polledBefore, 1));
    for (const part of ['worker', 'postgres', 'temporal'] as const)
      row(`  CPU seconds of ${part}`, perHour(used[part], 2));
    row('  transactions', perHour(used.commits, 0));
    const { raw } = await system.client.workflow.getHandle(turns[0]!.turnId).describe();
    const events = String(raw.workflowExecutionInfo?.historyLength);
    row('  history events of a turn', events, 'the same however long it waits');
    row('  Temporal actions', perHour(actions, 1), 'attempts of the poll');

    const endedMs = await timed(async () => {
      for (const { arguments: input, end } of tasks) await end('completed', `Built ${String(input.number)}.`);
      await until(async () => (await count(db, open)) === 0);
    });
    const histories = await ofAll(turns, ({ sessionId }) => system.history(sessionId));
    const right = histories.filter((events, number) => {
      const results = events.filter(({ type }) => type === 'agent.tool_result');
      const isOwn = results.length === 1 && results[0]!.content === `Built ${number}.`;
      return isOwn && events.at(-1)!.type === 'turn.completed';
    }).length;
    const { calls } = mcp;
    const called = new Set(calls.map(({ arguments: input }) => input.number)).size;
    const ended = `${right} of ${turns.length} turns completed with their own result, once`;
    row(ended, `in ${(endedMs / 1000).toFixed(1)} s`);
    row('  calls that reached the server', `${calls.length}, for ${called} turns`);
    if (right !== wanted || called !== wanted || calls.length !== wanted) process.exitCode = 1;
  },
});

/** The results of `work` on each item, twenty at a time. */
async function ofAll<Item, Result>(items: Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const workOnNext = async (): Promise<void> => {
    const index = next++;
    results[index] = await work(items[index]!);
  };
  await inParallel(PARALLEL, () => next < items.length, workOnNext);
  return results;
}

/** What is held, once a second. The service at rest is sampled too: its metrics alone take 17 statements each time. */
async function sample({ db, mcp, workers }: FaultSystem, ms: number) {
  const samples: Record<'slots' | 'postgres' | 'mcp', number[]> = { slots: [], postgres: [], mcp: [] };
  const end = performance.now() + ms;
  while (performance.now() < end) {
    await pause(SAMPLE_MS);
    samples.slots.push(await usedSlots(workers[0]!.url));
    samples.postgres.push(await busyConnections(db));
    samples.mcp.push(await mcp.connections());
  }
  return samples;
}
