import type { FaultSystem } from '../../test/support/fault-system.js';
import { steps, toolUse } from '../../test/support/scripted-model.js';
import { confirmation } from '../../test/support/waiting-turns.js';
import { inParallel, shown, timed, until } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';
import { OPTIONS, startSystem, startWaitingTurns } from '../waiting.js';

const MEASURED = 50;
const WARM_UP = 400;

export default scenario({
  measures:
    'turns that wait for an answer: what they hold and what the waiting costs; the time from an answer to the tool call, from a message to the model call, from a cancel to the end',
  options: OPTIONS,
  async run(bench, options) {
    const system = await startSystem(bench, options.turns);
    const { mcp, model } = system;
    let calledAt = 0;
    mcp.options.tools = [{ name: 'send', run: () => String((calledAt = performance.now())) }];
    const server = await system.insist('POST', '/v1/mcp-servers', { name: 'mail', url: mcp.url });
    const serverId = server.body.id as string;
    const ask = { permission_policy: { type: 'always_ask' } };
    const asking = {
      mcp_servers: [serverId],
      tools: [{ type: 'mcp_toolset', mcp_server_id: serverId, default_config: ask }],
    };
    model.on(/Go/, steps(toolUse('mcp__mail__send'), 'Done.'));
    model.on(/Hello/, 'Done.');
    // A worker that has worked: its heap has grown, and its cache of workflows is full.
    await inParallel(20, WARM_UP, async () => system.ended(await system.send(await system.session(), 'Hello')));
    const turns = await startWaitingTurns(system, options, async () => system.send(await system.session(asking), 'Go'));

    const measured = Math.min(MEASURED, Math.floor(turns.length / 2));
    const times: Record<'tool' | 'model' | 'modelWithServer' | 'cancelled', number[]> = {
      tool: [],
      model: [],
      modelWithServer: [],
      cancelled: [],
    };
    for (const turn of turns.slice(0, measured)) {
      const path = `/v1/sessions/${turn.sessionId}`;
      const { tool_use_id } = (await system.insist('GET', path)).body.required_actions[0];
      calledAt = 0;
      const answered = performance.now();
      await system.insist('POST', `${path}/events`, { events: [confirmation(tool_use_id as string, 'allow')] });
      await until(() => calledAt > 0);
      times.tool.push(calledAt - answered);
      await system.ended(turn);
      times.model.push(await messageToModel(system, {}));
      times.modelWithServer.push(await messageToModel(system, asking));
    }
    for (const turn of turns.slice(measured, 2 * measured)) {
      const cancel = async (): Promise<void> => {
        await system.insist('POST', `/v1/sessions/${turn.sessionId}/cancel`);
        await system.ended(turn);
      };
      times.cancelled.push(await timed(cancel));
    }
    row('  POST answer → tool called', shown(times.tool), 'at most the next');
    row('  POST message → model called, with the server', shown(times.modelWithServer));
    row('  POST message → model called', shown(times.model));
    row('  POST cancel → terminal event', shown(times.cancelled));
  },
});

/** Time from POST of a message, in a new session, to the model call. */
async function messageToModel(system: FaultSystem, session: Record<string, unknown>): Promise<number> {
  const sessionId = await system.session(session);
  const asked = system.model.requests.length;
  const sent = performance.now();
  await system.ended(await system.send(sessionId, 'Hello'));
  return system.model.requests[asked]!.receivedAt - sent;
}
