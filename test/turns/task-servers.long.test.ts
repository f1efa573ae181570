import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { McpServers, type TestMcpServer, type TestTask, type TestTool } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

/** decisions.md "Tasks and elicitation", "Tasks", for each kind of server and tool. */
describe('a task', () => {
  const servers = new McpServers();
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: servers.hosts } }));
  after(() => servers.close());
  afterEach(() => service.model.reset());

  /** A turn whose model calls the server's tool `build` once. */
  const start = async (name: string, mcp: TestMcpServer): Promise<{ sessionId: string; turnId: string }> => {
    const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url: mcp.url });
    expect(status, JSON.stringify(body)).to.equal(201);
    service.model.on(/Go/, steps([toolUse(`mcp__${name}__build`, {}, { id: 'toolu_1' })], 'Built.'));
    const sessionId = await service.session({ mcp_servers: [body.id] });
    return { sessionId, turnId: await service.send(sessionId, 'Go') };
  };
  const resultOf = async (sessionId: string) => {
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    return await service.resultOf(sessionId);
  };
  const optional: TestTool = {
    name: 'build',
    pollInterval: 1000,
    execution: { taskSupport: 'optional' },
    run: () => 'Built by a direct call.',
    task: ({ end }) => end('completed', 'Built by a task.'),
  };

  it('a task is what a tool that may be one is called as', async () => {
    const mcp = await servers.start({ tasks: true, tools: [optional] });
    const { sessionId } = await start('optional', mcp);
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Built by a task.' });
    expect(mcp.taskStates()).to.have.length(1);
  });

  it('a task is not begun on a server that does not offer tasks', async () => {
    const mcp = await servers.start({ tasks: false, tools: [optional] });
    const { sessionId } = await start('direct', mcp);
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Built by a direct call.' });
    expect(mcp.log).to.not.include('tasks/get');
  });

  it('a task has the error of its result, whatever its HTTP status', async () => {
    const mcp = await servers.start({ tasks: true, tools: [optional] });
    mcp.options.gateway = (_req, res, body) => {
      if (!body.includes('"tasks/result"')) return false;
      const { id } = JSON.parse(body) as { id: number };
      const error = { code: -32600, message: 'The log is gone' };
      res.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      return true;
    };
    const { sessionId } = await start('refusing', mcp);
    const result = await resultOf(sessionId);
    expect(result).to.have.property('is_error', true);
    expect(result).to.have.property('content').that.includes('ended with an error: MCP error -32600: The log is gone');
  });

  it('a task runs on a server that keeps no sessions', async () => {
    const begun = new Promise<TestTask>((resolve) => (work = resolve));
    const mcp = await servers.start({ tasks: true, stateless: true, tools: [waiting] });
    const { sessionId } = await start('stateless', mcp);
    const { end } = await begun;
    await eventually('the server is asked twice', async () => count(mcp, 'tasks/get') >= 2);
    await end('completed', 'Built without a session.');
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Built without a session.' });
    expect(mcp.calls).to.have.length(1);
  });

  it('a task is asked for in a new MCP session after its server has lost the old one', async () => {
    const begun = new Promise<TestTask>((resolve) => (work = resolve));
    const mcp = await servers.start({ tasks: true, sharedTasks: true, tools: [waiting] });
    const { sessionId, turnId } = await start('lost', mcp);
    const { end } = await begun;
    const sessionOfTask = async (): Promise<unknown> => {
      const rows = await service.db.query<{ mcp_session: unknown }[]>(
        'SELECT mcp_session FROM mcp_tasks WHERE turn_id = $1',
        [turnId],
      );
      return rows[0]?.mcp_session ?? null;
    };
    await eventually('the task is stored', async () => (await sessionOfTask()) !== null);
    const first = await sessionOfTask();
    const connections = count(mcp, 'initialize');
    await mcp.restart();
    await eventually('the task has a new session', async () => {
      return JSON.stringify(await sessionOfTask()) !== JSON.stringify(first);
    });
    await end('completed', 'Built all the same.');
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Built all the same.' });
    expect(count(mcp, 'initialize')).to.equal(connections + 1);
    expect(mcp.calls).to.have.length(1);
  });

  it('a task has its result read in the new MCP session in which its server says that it has ended', async () => {
    const begun = new Promise<TestTask>((resolve) => (work = resolve));
    const mcp = await servers.start({ tasks: true, sharedTasks: true, tools: [waiting] });
    const { sessionId } = await start('restarted', mcp);
    const { end } = await begun;
    await eventually('the server is asked', () => count(mcp, 'tasks/get') >= 1);
    await mcp.kill();
    await end('completed', 'Built meanwhile.');
    await mcp.restart();
    expect(await resultOf(sessionId)).to.include({ is_error: false, content: 'Built meanwhile.' });
    expect(count(mcp, 'tasks/result')).to.equal(1);
  });

  let work: (task: TestTask) => void;
  const waiting: TestTool = { name: 'build', pollInterval: 1000, task: (task) => work(task) };
  const count = (mcp: TestMcpServer, method: string): number => mcp.log.filter((one) => one === method).length;
});
