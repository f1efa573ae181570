/**
 * `npm run check -- waiting-tasks`: what open tasks of one project cost another project. Turns of one or two projects wait for
 * tasks whose server asks to be polled each second; beside them another project sends plain messages. Prints the times of
 * these turns, the polls a second, and the CPU time of the service, before, with, and after the tasks.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { eventually } from '../../test/support/eventually.js';
import { startFaultSystem } from '../../test/support/fault-system.js';
import { listen } from '../../test/support/listen.js';
import { toolUse } from '../../test/support/scripted-model.js';

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '10' },
    tasks: { type: 'string', default: '50' },
    projects: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
  },
});
const [turns, tasks, projects] = [Number(values.turns), Number(values.tasks), Number(values.projects)];
/** Linux counts CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

const methods: string[] = [];
let isDone = false;
const state = (): object => ({ status: isDone ? 'completed' : 'working', pollInterval: 1000 });
const ANSWERS: Record<string, () => object> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } }, cancel: {} } },
    serverInfo: { name: 'tasks', version: '1' },
  }),
  'tools/list': () => ({
    tools: [{ name: 'build', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }],
  }),
  'tools/call': () => ({ task: { taskId: randomUUID(), ...state() } }),
  'tasks/get': state,
  'tasks/result': () => ({ content: [{ type: 'text', text: 'Built.' }] }),
};
/** Cheaper than the SDK's server: what is measured is the service. */
const server = createServer((req, res) => {
  void (async () => {
    const body = await readText(req);
    const { id, method = req.method! } = body === '' ? {} : (JSON.parse(body) as { id?: number; method?: string });
    methods.push(method);
    if (id === undefined) return res.writeHead(method === 'GET' ? 405 : 202).end();
    const session = method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {};
    res.writeHead(200, { 'content-type': 'application/json', ...session });
    return res.end(JSON.stringify({ jsonrpc: '2.0', id, result: ANSWERS[method]?.() ?? {} }));
  })();
});
const { port } = await listen(server);
const system = await startFaultSystem({
  services: 1,
  ownPostgres: true,
  ownTemporal: true,
  allowedHosts: [`127.0.0.1:${port}`],
});
const calls = Array.from({ length: tasks }, () => toolUse('mcp__ops__build', {}));
system.model.on(/^Go/, ({ step }) => (step === 0 ? calls : 'Done.'));
system.model.on(/^Hello/, () => 'Hello.');

const victim = await system.newKey('victim');
const cpuSeconds = (): number => {
  const fields = readFileSync(`/proc/${system.workers[0]!.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};
const polls = (): number => methods.filter((method) => method === 'tasks/get').length;
const shown = (ms: number[], part: number): string => {
  const sorted = [...ms].sort((a, b) => a - b);
  return `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!)} ms`;
};
async function measure(what: string, seconds = Number(values.seconds)): Promise<void> {
  const times: number[] = [];
  const [began, cpu, polled] = [performance.now(), cpuSeconds(), polls()];
  for (const until = performance.now() + seconds * 1000; performance.now() < until;) {
    const sessionId = await system.session({ thinking_enabled: false }, victim);
    const sent = performance.now();
    const { turnId } = await system.send(sessionId, 'Hello', victim);
    for (;;) {
      const ended = await system.db.query<unknown[]>('SELECT FROM turns WHERE id = $1 AND ended_at IS NOT NULL', [
        turnId,
      ]);
      if (ended.length > 0) break;
      await sleep(10);
    }
    times.push(performance.now() - sent);
    await sleep(200);
  }
  const took = (performance.now() - began) / 1000;
  const rates = `${((polls() - polled) / took).toFixed(1)} polls/s, CPU ${(((cpuSeconds() - cpu) / took) * 100).toFixed(0)} %`;
  console.log(`${what}: median ${shown(times, 0.5)}, p95 ${shown(times, 0.95)}, worst ${shown(times, 1)}; ${rates}`);
}

await measure('warming up', 5);
await measure('before', 20);
for (let n = 1; n <= projects; n += 1) {
  const key = await system.newKey(`busy-${n}`);
  const { body } = await system.insist(
    'POST',
    '/v1/mcp-servers',
    { name: 'ops', url: `http://127.0.0.1:${port}/mcp` },
    key,
  );
  for (let m = 0; m < turns; m += 1) {
    const sessionId = await system.session({ mcp_servers: [body.id], thinking_enabled: false }, key);
    await system.send(sessionId, 'Go', key);
  }
}
const open = async (): Promise<number> => {
  const [row] = await system.db.query<{ open: number }[]>(
    `SELECT count(*)::integer AS open FROM mcp_tasks JOIN open_turns USING (turn_id) WHERE ended_at IS NULL`,
  );
  return row!.open;
};
await measure('while they begin', 20);
await eventually('all tasks are open', async () => (await open()) === turns * tasks * projects, 300_000);
await measure(`${await open()} open tasks`);
isDone = true;
await measure('while they end', 30);
await eventually('all turns have ended', async () => (await open()) === 0, 600_000);
await measure('after', 20);
console.log(
  Object.fromEntries(
    ['tools/call', 'tasks/get', 'tasks/result'].map((one) => [one, methods.filter((method) => method === one).length]),
  ),
);
await system.close();
server.close();
process.exit(0);
