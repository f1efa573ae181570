import { expect } from 'chai';
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';

/** What a server may do with its tasks, at worst. */
describe('tasks of a hostile server', () => {
  let mcp: TestMcpServer;
  let service: TurnService;
  let mcpId: string;
  let task: () => Record<string, unknown>;
  let asked: number[];

  before(async () => {
    mcp = await startMcpServer({
      tasks: true,
      tools: [{ name: 'build', task: () => undefined }],
      gateway: (_, res, body) => {
        const message = body === '' ? {} : (JSON.parse(body) as { id?: number; method?: string });
        const { id, method } = message;
        if (method !== 'tools/call' && method !== 'tasks/get') return false;
        if (method === 'tasks/get') asked.push(Date.now());
        const result = method === 'tools/call' ? { task: task() } : task();
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
        return true;
      },
    });
    service = await startTurnService({ config: { mcpAllowedHosts: [mcp.host], taskTimeoutSeconds: 8 } });
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'ops', url: mcp.url });
    mcpId = body.id;
  });
  after(async () => {
    await service.close();
    await mcp.close();
  });
  beforeEach(() => {
    asked = [];
    mcp.log.length = 0;
  });

  // oxlint-disable-next-line typescript/no-explicit-any -- an event of any type
  const run = async (): Promise<any[]> => {
    service.model.on(/Go/, steps([toolUse('mcp__ops__build', {}, { id: 'toolu_1' })], 'Done.'));
    const sessionId = await service.session({ mcp_servers: [mcpId] });
    const events = await service.run(sessionId, 'Go');
    expect(events.at(-1)).to.include({ type: 'turn.completed' });
    return events;
  };

  it('end after TASK_TIMEOUT_SECONDS, and the server is told', async () => {
    let n = 0;
    task = () => {
      n += 1;
      const status = n % 2 === 0 ? 'input_required' : 'working';
      return { taskId: 't1', status, statusMessage: `${n}`.repeat(10_000), pollInterval: 0 };
    };
    const events = await run();
    const result = events.find(({ type }) => type === 'agent.tool_result');
    expect(result).to.include({ is_error: true });
    expect(result.content).to.include('did not finish within 8 s');
    // A second apart, however often the server would like it.
    expect(asked.length).to.be.within(2, 9);
    const progress = events.filter(({ type }) => type === 'agent.tool_progress');
    expect(progress.length).to.be.within(1, 2);
    for (const { message } of progress) expect(message).to.have.length(1000);
    expect(mcp.log).to.include('tasks/cancel');
  });

  it('have an id that can be kept', async () => {
    for (const taskId of ['x'.repeat(1024 * 1024), '', 7, 'a\0b']) {
      task = () => ({ taskId, status: 'working' });
      const events = await run();
      const result = events.find(({ type }) => type === 'agent.tool_result');
      expect(result).to.include({ is_error: true });
      expect(result.content).to.include('its task has').and.include('outcome is unknown');
      expect(result.content.length).to.be.lessThan(1000);
    }
    expect(asked).to.deep.equal([]);
  });
});
