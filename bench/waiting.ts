import type { FaultSystem, FaultSystemOptions, Turn } from '../test/support/fault-system.js';
import type { Bench } from './bench.js';
import {
  busyConnections,
  count,
  held,
  inParallel,
  memoryOf,
  pause,
  timed,
  until,
  usageOf,
  usedBetween,
  usedSlots,
  type Usage,
} from './measure.js';
import { row } from './table.js';

/** The options of all scenarios of waiting turns. */
export const OPTIONS = { turns: 1000, seconds: 120 };
const PARALLEL = 20;
/** Further turns that a scenario may have under way. */
const SPARE = 100;
const REST_MS = 20_000;
const SAMPLE_MS = 1000;
/** Past the minute after which each workflow continues as new: 1,000 at once keep two cores busy for ten seconds. */
const SETTLE_MS = 75_000;
const OPEN = `SELECT count(*) FROM turns WHERE state IN ('queued', 'running')`;
const WAITS = `(EXISTS (SELECT FROM tool_calls c WHERE c.turn_id = turns.id AND c.state = 'task')
  OR EXISTS (SELECT FROM waits w WHERE w.turn_id = turns.id AND w.state = 'open'))`;

/** A system with servers of its own, whose projects may run that many turns. */
export async function startSystem(bench: Bench, turns: number, options: FaultSystemOptions = {}): Promise<FaultSystem> {
  const system = await bench.system({ ownPostgres: true, ownTemporal: { persistent: false }, ...options });
  await system.db.query('UPDATE projects SET max_running_turns = $1', [turns + SPARE]);
  return system;
}

/** Starts turns that come to wait, and prints what they hold and what the waiting costs beside an idle system. */
export async function startWaitingTurns(
  system: FaultSystem,
  { turns: wanted, seconds }: typeof OPTIONS,
  start: (n: number) => Promise<Turn>,
): Promise<Turn[]> {
  const { db, mcp } = system;
  // What the start of the system does is over.
  await pause(REST_MS);
  const rest = (await sample(system, REST_MS)).usage;
  const memory = [memoryOfAll(system)];

  // No faster than the worker takes them: calls that wait too long for it end without a task.
  const turns: Turn[] = [];
  const startedMs = await timed(async () => {
    while (turns.length < wanted) {
      const batch = Math.min(PARALLEL, wanted - turns.length);
      turns.push(...(await inParallel(PARALLEL, batch, (n) => start(turns.length + n))));
      await until(async () => (await count(db, `${OPEN} AND NOT ${WAITS}`)) === 0);
    }
  });
  memory.push(memoryOfAll(system));
  check('turns wait', await count(db, `${OPEN} AND ${WAITS}`), wanted);
  row('  since their start', `${(startedMs / 1000).toFixed(1)} s`);
  await pause(SETTLE_MS);
  memory.push(memoryOfAll(system));

  const [before, requestsBefore] = [await inTemporal(system, turns), mcp.log.length];
  const { usage, slots, busy, connections } = await sample(system, seconds * 1000);
  const [after, requests] = [await inTemporal(system, turns), mcp.log.length - requestsBefore];
  const used = usedBetween(...usage, rest);
  const perHour = (value: number, digits: number): string => ((value / used.seconds / wanted) * 3600).toFixed(digits);
  row('  slots of the worker in use, once a second', held(slots));
  row('  database connections that do something', held(busy));
  row('  connections to the MCP server', held(connections));
  row('  pending activities', String(after.pending));
  row('  events of a history, at most', String(after.events));
  row('  MiB of API + worker: idle, all wait, settled', memory.join(', '));
  row('for each turn and hour:', 'beside what an idle service uses');
  for (const part of ['worker', 'postgres', 'temporal'] as const)
    row(`  CPU seconds of ${part}`, perHour(used[part], 2));
  row('  transactions', perHour(used.commits, 0));
  row('  requests to the MCP server', perHour(requests, 1));
  row('  attempts of activities', perHour(after.attempts - before.attempts, 1), 'a Temporal action each');
  return turns;
}

/** Ends all waits and prints how long the turns take to end. */
export async function endWaits<Wait>({ db }: FaultSystem, waits: Wait[], end: (wait: Wait) => Promise<unknown>) {
  const ms = await timed(async () => {
    await inParallel(PARALLEL, waits.length, (n) => end(waits[n]!));
    await until(async () => (await count(db, OPEN)) === 0);
  });
  row('all went on and ended', `after ${(ms / 1000).toFixed(1)} s`);
}

/** Prints a count, and lets the bench fail if it is another one. */
export function check(name: string, counted: number, wanted: number): void {
  row(name, String(counted), String(wanted));
  if (counted !== wanted) process.exitCode = 1;
}

const memoryOfAll = ({ apis, workers }: FaultSystem): string =>
  [...apis, ...workers].map(({ pid }) => memoryOf(pid, 'VmRSS')).join(' + ');

/** What is held, once a second. An idle system is sampled too: the worker's metrics alone take 17 statements each time. */
async function sample(system: FaultSystem, ms: number) {
  const { db, mcp, workers } = system;
  const [slots, busy, connections]: [number[], number[], number[]] = [[], [], []];
  const before = await usageOf(system);
  for (const end = performance.now() + ms; performance.now() < end;) {
    await pause(SAMPLE_MS);
    slots.push(await usedSlots(workers[0]!.url));
    busy.push(await busyConnections(db));
    connections.push(await mcp.connections());
  }
  return { usage: [before, await usageOf(system)] as [Usage, Usage], slots, busy, connections };
}

/** Pending activities of all turns, the attempts of these, and the events of the longest history, each in the current runs. */
async function inTemporal({ client }: FaultSystem, turns: Turn[]) {
  const sum = { pending: 0, attempts: 0, events: 0 };
  await inParallel(PARALLEL, turns.length, async (n) => {
    const { raw, historyLength } = await client.workflow.getHandle(turns[n]!.turnId).describe();
    const pending = raw.pendingActivities ?? [];
    sum.pending += pending.length;
    for (const { attempt } of pending) sum.attempts += attempt ?? 0;
    sum.events = Math.max(sum.events, historyLength);
  });
  return sum;
}
