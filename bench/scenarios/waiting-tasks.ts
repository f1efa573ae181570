import type { TestTask } from '../../test/support/mcp-server.js';
import { toolUse } from '../../test/support/scripted-model.js';
import { inParallel } from '../measure.js';
import { scenario } from '../scenario.js';
import { check, endWaits, OPTIONS, startSystem, startWaitingTurns } from '../waiting.js';

const POLL_MS = 60_000;

export default scenario({
  measures:
    'turns that wait for tasks of an MCP server which asks to be polled once a minute: what they hold and what the waiting costs; fails unless each then completes with its own result, after one call',
  // A project may have 500 open tasks.
  options: { ...OPTIONS, turns: 500 },
  async run(bench, options) {
    const system = await startSystem(bench, options.turns);
    const { mcp, model } = system;
    const tasks: TestTask[] = [];
    Object.assign(mcp.options, {
      tasks: true,
      tools: [{ name: 'build', pollInterval: POLL_MS, task: (task: TestTask) => tasks.push(task) }],
    });
    const server = await system.insist('POST', '/v1/mcp-servers', { name: 'ops', url: mcp.url });
    const session = { mcp_servers: [server.body.id as string] };
    model.on(/^Go/, ({ userText, step }) =>
      step === 0 ? toolUse('mcp__ops__build', { number: Number(userText.split(' ')[1]) }) : 'Done.',
    );
    const turns = await startWaitingTurns(system, options, async (n) =>
      system.send(await system.session(session), `Go ${n}`),
    );
    await endWaits(system, tasks, async ({ arguments: input, end }) =>
      end('completed', `Built ${String(input.number)}.`),
    );
    const completed = await inParallel(20, turns.length, async (n) => {
      const events = await system.history(turns[n]!.sessionId);
      const results = events.filter(({ type }) => type === 'agent.tool_result');
      const isOwn = results.length === 1 && results[0]!.content === `Built ${n}.`;
      return isOwn && events.at(-1)!.type === 'turn.completed';
    });
    check('  completed with their own result', completed.filter(Boolean).length, options.turns);
    check('  calls that reached the server', mcp.calls.length, options.turns);
    check('  turns that made them', new Set(mcp.calls.map((call) => call.arguments.number)).size, options.turns);
  },
});
