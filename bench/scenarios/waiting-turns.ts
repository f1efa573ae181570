import type { FaultSystem, Turn } from '../../test/support/fault-system.js';
import { steps, toolUse } from '../../test/support/scripted-model.js';
import { confirmation } from '../../test/support/waiting-turns.js';
import { busyConnections, count, inParallel, memoryOf, pause, shown, timed, until } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const PARALLEL = 20;
const MEASURED = 50;
const WARM_UP = 400;
/** Past the minute after which each workflow continues as new: 1,000 at once keep two cores busy for ten seconds. */
const REST_MS = 110_000;

export default scenario({
  measures:
    'turns that wait for an answer: activities, connections, memory; the time from an answer to the tool call, from a message to the model call, from a cancel to the end',
  options: { turns: 1000 },
  async run(bench, { turns: wanted }) {
    const system = await bench.system();
    const { db, mcp, model } = system;
    let calledAt = 0;
    mcp.options.tools = [{ name: 'send', run: () => String((calledAt = performance.now())) }];
    const server = await system.insist('POST', '/v1/mcp-servers', { name: 'mail', url: mcp.url });
    await db.query('UPDATE projects SET max_running_turns = $1', [wanted + MEASURED + PARALLEL]);
    const serverId = server.body.id as string;
    const ask = { permission_policy: { type: 'always_ask' } };
    const asking = {
      mcp_servers: [serverId],
      tools: [{ type: 'mcp_toolset', mcp_server_id: serverId, default_config: ask }],
    };
    model.on(/Go/, steps(toolUse('mcp__mail__send'), 'Done.'));
    model.on(/Hello/, 'Done.');
    const turns: Turn[] = [];
    const wait = async (): Promise<unknown> => turns.push(await system.send(await system.session(asking), 'Go'));
    const areAllWaiting = async (): Promise<boolean> =>
      (await count(db, `SELECT count(*) FROM required_actions WHERE state = 'open'`)) === turns.length;

    // A worker that has worked: its heap has grown, and its cache of workflows is full.
    let done = 0;
    await inParallel(
      PARALLEL,
      () => done++ < WARM_UP,
      async () => system.ended(await system.send(await system.session(), 'Hello')),
    );
    row(`API + worker after ${WARM_UP} turns`, memoryOfAll(system), 'MiB');
    await Promise.all(Array.from({ length: PARALLEL }, wait));
    await until(areAllWaiting);
    const few = memoryOfAll(system);
    let started = turns.length;
    const startedMs = await timed(async () => {
      await inParallel(PARALLEL, () => started++ < wanted, wait);
      await until(areAllWaiting);
    });
    row(`${turns.length} turns wait`, `after ${(startedMs / 1000).toFixed(1)} s`);
    const all = memoryOfAll(system);
    await pause(REST_MS);
    row(`  API + worker: ${PARALLEL}, all, rested`, [few, all, memoryOfAll(system)].join(', '), 'MiB');
    row('  activities under way', String(await pendingActivities(system, turns)), '0');
    row('  database connections that do something', String(await busyConnections(db)), '0');

    const [toTool, toModel, toModelWithServer, toCancelled]: [number[], number[], number[], number[]] = [
      [],
      [],
      [],
      [],
    ];
    for (const { sessionId } of turns.slice(0, MEASURED)) {
      const path = `/v1/sessions/${sessionId}`;
      const { tool_use_id } = (await system.insist('GET', path)).body.required_actions[0];
      calledAt = 0;
      const answered = performance.now();
      await system.insist('POST', `${path}/events`, { events: [confirmation(tool_use_id as string, 'allow')] });
      await until(() => calledAt > 0);
      toTool.push(calledAt - answered);
      await until(async () => (await system.insist('GET', path)).body.status === 'COMPLETE');
      toModel.push(await messageToModel(system, {}));
      toModelWithServer.push(await messageToModel(system, asking));
    }
    for (const turn of turns.slice(MEASURED, 2 * MEASURED)) {
      const cancelled = timed(async () => {
        await system.insist('POST', `/v1/sessions/${turn.sessionId}/cancel`);
        await system.ended(turn);
      });
      toCancelled.push(await cancelled);
    }
    row('  POST answer → tool called', shown(toTool), 'at most the next');
    row('  POST message → model called, same kind of session', shown(toModelWithServer));
    row('  POST message → model called, without an MCP server', shown(toModel));
    row('  POST cancel of a waiting turn → terminal event', shown(toCancelled), '2,000 ms');
  },
});

/** Resident MiB of the API and of the worker. */
const memoryOfAll = ({ apis, workers }: FaultSystem): string =>
  [apis[0]!, workers[0]!].map(({ pid }) => memoryOf(pid, 'VmRSS')).join(' + ');

async function pendingActivities(system: FaultSystem, turns: Turn[]): Promise<number> {
  let pending = 0;
  for (const { turnId } of turns) {
    const { raw } = await system.client.workflow.getHandle(turnId).describe();
    pending += raw.pendingActivities?.length ?? 0;
  }
  return pending;
}

/** Time from POST of a message, in a new session, to the model call. */
async function messageToModel(system: FaultSystem, session: Record<string, unknown>): Promise<number> {
  const sessionId = await system.session(session);
  const asked = system.model.requests.length;
  const sent = performance.now();
  await system.ended(await system.send(sessionId, 'Hello'));
  return system.model.requests[asked]!.receivedAt - sent;
}
