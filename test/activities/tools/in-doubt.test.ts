import { expect } from 'chai';
import { breakNext } from '../../support/broken-connection.js';
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.js';
import { steps, toolUse } from '../../support/scripted-model.js';
import { startTurnService, type TurnService } from '../../support/turns.js';

/** A commit is in doubt when the connection breaks before its answer. The attempt's own token tells what became of it. */
describe('the start of a tool call whose commit is in doubt', () => {
  let service: TurnService;
  let mcp: TestMcpServer;
  let serverId: string;
  before(async () => {
    mcp = await startMcpServer({ tools: [{ name: 'buy', run: () => 'bought' }] });
    service = await startTurnService({ config: { mcpAllowedHosts: [mcp.host] } });
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url });
    serverId = (body as { id: string }).id;
  });
  after(async () => {
    await service.close();
    await mcp.close();
  });

  let broken: ReturnType<typeof breakNext>;
  afterEach(() => {
    broken.restore();
    service.model.reset();
    mcp.calls.length = 0;
  });

  for (const moment of ['before', 'after'] as const) {
    it(`sends the call once if the connection breaks ${moment} the commit`, async () => {
      service.model.on(/Buy/, steps(toolUse('mcp__shop__buy'), 'Done.'));
      const sessionId = await service.session({ mcp_servers: [serverId] });
      broken = breakNext("SET state = 'started'", moment);
      await service.send(sessionId, 'Buy');
      expect(await service.ended(sessionId)).to.have.property('type', 'turn.completed');
      expect(broken.broken).to.equal(true);
      expect(mcp.calls).to.have.length(1);
      const result = (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_result');
      expect(result).to.include({ is_error: false, content: 'bought' });
    });
  }
});
