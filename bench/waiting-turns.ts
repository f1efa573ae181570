/**
 * What turns cost that wait for an answer: slots, database connections, memory; and how long it takes from POST of an
 * answer to the call of the tool, beside POST of a message to the call of the model.
 * `npx tsx bench/waiting-turns.ts [turns]`
 */
import { openDataSource } from '../src/db/data-source.js';
import { startMcpServer } from '../test/support/mcp-server.js';
import { steps, toolUse } from '../test/support/scripted-model.js';
import { confirmation, sendAnswers } from '../test/support/waiting-turns.js';
import type { TurnService } from '../test/support/turns.js';
import { median } from './support/run.js';
import { row, withTurnService } from './support/in-process.js';

const TURNS = Number(process.argv[2] ?? 1000);
const PARALLEL = 20;
const MEASURED = 50;
/** Long enough for the reconciler to look at waiting turns several times. */
const REST_MS = 20_000;
const MIB = 1024 * 1024;

let calledAt = 0;
const mcp = await startMcpServer({ tools: [{ name: 'send', run: () => String((calledAt = performance.now())) }] });
await withTurnService(
  { config: { mcpAllowedHosts: [mcp.host] }, model: { supports_thinking: false } },
  async (service) => {
    await service.db.query('UPDATE projects SET max_running_turns = $1', [TURNS + MEASURED]);
    const server = (await service.api('POST', '/v1/mcp-servers', { name: 'mail', url: mcp.url })).body.id as string;
    const ask = { permission_policy: { type: 'always_ask' } };
    service.model.script(steps(toolUse('mcp__mail__send'), 'Done.'));
    const waitingSession = async (): Promise<string> => {
      const tools = [{ type: 'mcp_toolset', mcp_server_id: server, default_config: ask }];
      const session = await service.session({ mcp_servers: [server], tools });
      await service.send(session, 'Go');
      return session;
    };
    const openCalls = async (): Promise<number> => {
      const [counted] = await service.db.query<[{ count: number }]>(
        `SELECT count(*)::integer AS count FROM required_actions WHERE state = 'open'`,
      );
      return counted.count;
    };
    const until = async (condition: () => Promise<boolean>): Promise<void> => {
      while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 100));
    };

    const sessions = await Promise.all(Array.from({ length: 10 }, waitingSession));
    await until(async () => (await openCalls()) === sessions.length);
    const before = memory();
    const began = performance.now();
    while (sessions.length < TURNS) {
      sessions.push(...(await Promise.all(Array.from({ length: PARALLEL }, waitingSession))));
    }
    await until(async () => (await openCalls()) === sessions.length);
    row(`${sessions.length} turns wait`, `after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    const waiting = memory();
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const rested = memory();
    row(
      '  memory of API, worker and model (10, all, rested)',
      [before, waiting, rested].map((mib) => `${mib} MiB`).join(', '),
    );
    row('  activities under way', String(await activities(service)), '0');
    row('  database connections that do something', String(await busyConnections(service)), '0');

    const toTool: number[] = [];
    const toModel: number[] = [];
    for (const session of sessions.slice(0, MEASURED)) {
      const [{ tool_use_id }] = (await service.api('GET', `/v1/sessions/${session}`)).body.required_actions;
      calledAt = 0;
      const answered = performance.now();
      await sendAnswers(service, session, [confirmation(tool_use_id as string, 'allow')]);
      await until(async () => calledAt > 0);
      toTool.push(calledAt - answered);
      const plain = await service.session({});
      const asked = service.model.requests.length;
      const sent = performance.now();
      await service.send(plain, 'Go');
      await until(async () => service.model.requests.length > asked);
      toModel.push(service.model.requests[asked]!.receivedAt - sent);
    }
    row('  POST answer → tool called (median)', `${median(toTool).toFixed(0)} ms`);
    row('  POST message → model called (median)', `${median(toModel).toFixed(0)} ms`);
    for (const session of sessions.slice(MEASURED)) await service.api('POST', `/v1/sessions/${session}/cancel`);
    await until(async () => (await openCalls()) === 0);
  },
);
await mcp.close();

function memory(): number {
  global.gc?.();
  return Math.round(process.memoryUsage().rss / MIB);
}

async function activities(service: TurnService): Promise<number> {
  const text = (await service.as(null)('GET', '/metrics')).body as string;
  const used = /^temporal_worker_task_slots_used\{[^}]*worker_type="ActivityWorker"[^}]*\} (\d+)/m.exec(text);
  return Number(used?.[1] ?? 0);
}

async function busyConnections(service: TurnService): Promise<number> {
  const db = await openDataSource(service.config.databaseUrl, 2, 'bench');
  const [counted] = await db.query<[{ count: number }]>(
    `SELECT count(*)::integer AS count FROM pg_stat_activity
     WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
  );
  await db.destroy();
  return counted.count;
}
