import { expect } from 'chai';
import { startMcpServer, type TestMcpServer, type TestTask } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';

/** contract.md §11 "Tasks", against a server of the MCP SDK. */
describe('a tool call that is a task', () => {
  let mcp: TestMcpServer;
  let service: TurnService;
  let name: string;
  let mcpId: string;
  const started = new Map<string, (task: TestTask) => void>();

  before(async () => {
    mcp = await startMcpServer({
      tasks: true,
      tools: [{ name: 'build', pollInterval: 1000, task: (task) => started.get(String(task.arguments.what))?.(task) }],
    });
    service = await startTurnService({ config: { mcpAllowedHosts: [mcp.host] } });
    name = 'builder';
    const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url: mcp.url });
    expect(status, JSON.stringify(body)).to.equal(201);
    mcpId = body.id;
  });
  after(async () => {
    await service.close();
    await mcp.close();
  });
  afterEach(() => service.model.reset());

  /** A turn whose model calls the tool once. */
  const call = async (what: string): Promise<{ sessionId: string; turnId: string; task: Promise<TestTask> }> => {
    const task = new Promise<TestTask>((resolve) => started.set(what, resolve));
    service.model.on(
      new RegExp(what),
      steps([toolUse(`mcp__${name}__build`, { what }, { id: `toolu_${what}` })], 'Built.'),
    );
    const sessionId = await service.session({ mcp_servers: [mcpId] });
    return { sessionId, turnId: await service.send(sessionId, what), task };
  };

  it('stores the result that the task ends with', async () => {
    const { sessionId, task } = await call('app');
    await (await task).end('completed', 'It works.');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const events = await service.history(sessionId);
    expect(events.map(({ type }) => type as string)).to.deep.equal([
      'user.message',
      'agent.tool_use',
      'agent.tool_result',
      'agent.message',
      'turn.completed',
    ]);
    expect(events[2]).to.include({ tool_use_id: 'toolu_app', is_error: false, content: 'It works.' });
    expect(mcp.calls).to.have.length(1);
    expect(mcp.log.filter((method) => method === 'tasks/result')).to.have.length(1);
  });
});
