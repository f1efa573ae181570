/**
 * Measures turns that wait for an answer: activities, database connections, memory of each process. Also measures the time
 * from POST of an answer to the tool call, from POST of a message to the model call, and from POST cancel to the terminal
 * event. `npx tsx bench/waiting-turns.ts [turns]`, after `npm run build`.
 */
import { startFaultSystem, type FaultSystem, type Turn } from '../test/support/fault-system.js';
import { memoryOf } from '../test/support/memory.js';
import { steps, toolUse } from '../test/support/scripted-model.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../test/support/services.js';
import { confirmation } from '../test/support/waiting-turns.js';
import { row } from './support/in-process.js';
import { median } from './support/run.js';

const TURNS = Number(process.argv[2] ?? 1000);
const PARALLEL = 20;
const MEASURED = 50;
const WARM_UP = 400;
/** Past the minute after which each workflow continues as new: 1,000 at once keep two cores busy for ten seconds. */
const REST_MS = 110_000;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Resident MiB of the API and of the worker. */
const memory = ({ apis, workers }: FaultSystem): string =>
  [apis[0]!, workers[0]!].map(({ pid }) => memoryOf(pid, 'VmRSS')).join(' + ');

async function count(system: FaultSystem, query: string): Promise<number> {
  const [counted] = await system.db.query<[{ count: number }]>(query);
  return counted.count;
}

const openCalls = (system: FaultSystem): Promise<number> =>
  count(system, `SELECT count(*)::integer AS count FROM required_actions WHERE state = 'open'`);

const busyConnections = (system: FaultSystem): Promise<number> =>
  count(
    system,
    `SELECT count(*)::integer AS count FROM pg_stat_activity
     WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
  );

async function pendingActivities(system: FaultSystem, turns: Turn[]): Promise<number> {
  let pending = 0;
  for (const { turnId } of turns) {
    const { raw } = await system.client.workflow.getHandle(turnId).describe();
    pending += raw.pendingActivities?.length ?? 0;
  }
  return pending;
}

/** Time from POST of a message to the model call. */
async function messageToModel(sessionId: string): Promise<number> {
  const asked = system.model.requests.length;
  const sent = performance.now();
  await system.ended(await system.send(sessionId, 'Hello'));
  return system.model.requests[asked]!.receivedAt - sent;
}

await mochaGlobalSetup();
const system = await startFaultSystem();
let calledAt = 0;
system.mcp.options.tools = [{ name: 'send', run: () => String((calledAt = performance.now())) }];
const server = await system.insist('POST', '/v1/mcp-servers', { name: 'mail', url: system.mcp.url });
await system.db.query('UPDATE projects SET max_running_turns = $1', [TURNS + MEASURED + PARALLEL]);
const serverId = server.body.id as string;
const ask = { permission_policy: { type: 'always_ask' } };
const tools = [{ type: 'mcp_toolset', mcp_server_id: serverId, default_config: ask }];
system.model.on(/Go/, steps(toolUse('mcp__mail__send'), 'Done.'));
system.model.on(/Hello/, 'Done.');
const waitingTurn = async (): Promise<Turn> =>
  system.send(await system.session({ mcp_servers: [serverId], tools }), 'Go');

// A worker that has worked: its heap has grown, and its cache of workflows is full.
for (let done = 0; done < WARM_UP; done += PARALLEL) {
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => system.ended(await system.send(await system.session(), 'Hello'))),
  );
}
row(`API + worker after ${WARM_UP} turns`, memory(system), 'MiB');
const turns = await Promise.all(Array.from({ length: PARALLEL }, waitingTurn));
await until(async () => (await openCalls(system)) === turns.length);
const before = memory(system);
const began = performance.now();
while (turns.length < TURNS) turns.push(...(await Promise.all(Array.from({ length: PARALLEL }, waitingTurn))));
await until(async () => (await openCalls(system)) === turns.length);
row(`${turns.length} turns wait`, `after ${((performance.now() - began) / 1000).toFixed(1)} s`);
const waiting = memory(system);
await new Promise((resolve) => setTimeout(resolve, REST_MS));
row(`  API + worker: ${PARALLEL}, all, rested`, [before, waiting, memory(system)].join(', '), 'MiB');
row('  activities under way', String(await pendingActivities(system, turns)), '0');
row('  database connections that do something', String(await busyConnections(system)), '0');

const [toTool, toModel, toModelWithServer, toCancelled]: number[][] = [[], [], [], []];
for (const { sessionId } of turns.slice(0, MEASURED)) {
  const path = `/v1/sessions/${sessionId}`;
  const { tool_use_id } = (await system.insist('GET', path)).body.required_actions[0];
  calledAt = 0;
  const answered = performance.now();
  await system.insist('POST', `${path}/events`, { events: [confirmation(tool_use_id as string, 'allow')] });
  await until(() => calledAt > 0);
  toTool!.push(calledAt - answered);
  await until(async () => (await system.insist('GET', path)).body.status === 'COMPLETE');
  toModel!.push(await messageToModel(await system.session()));
  toModelWithServer!.push(await messageToModel(await system.session({ mcp_servers: [serverId], tools })));
}
for (const turn of turns.slice(MEASURED, 2 * MEASURED)) {
  const cancelled = performance.now();
  await system.insist('POST', `/v1/sessions/${turn.sessionId}/cancel`);
  await system.ended(turn);
  toCancelled!.push(performance.now() - cancelled);
}
const shown = (times: number[]): string => `${median(times).toFixed(0)} ms (worst ${Math.max(...times).toFixed(0)})`;
row('  POST answer → tool called', shown(toTool!), 'at most the next');
row('  POST message → model called, same kind of session', shown(toModelWithServer!));
row('  POST message → model called, without an MCP server', shown(toModel!));
row('  POST cancel of a waiting turn → terminal event', shown(toCancelled!), '2,000 ms');
await system.close();
await mochaGlobalTeardown();
process.exit(0);
