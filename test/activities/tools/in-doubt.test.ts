import type { Socket } from 'node:net';
import { expect } from 'chai';
import { PreparedClient } from '../../../src/db/prepared-client.js';
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

  // oxlint-disable-next-line typescript/unbound-method -- applied to the client it was called on
  const query = PreparedClient.prototype.query;
  afterEach(() => {
    PreparedClient.prototype.query = query;
    service.model.reset();
    mcp.calls.length = 0;
  });

  /** Breaks the connection of the next start of a tool call, before or after Postgres commits it. */
  const breakNextStart = (moment: 'before' | 'after'): { broken: boolean } => {
    const state = { broken: false };
    PreparedClient.prototype.query = function (this: PreparedClient, ...args: unknown[]): never {
      const [form] = args as [string | { text: string }];
      const statement = typeof form === 'string' ? form : form.text;
      const run = (): unknown => query.apply(this, args as never);
      if (state.broken || !statement.includes("SET state = 'started'")) return run() as never;
      state.broken = true;
      const cut = (): void => {
        const { stream } = (this as unknown as { connection: { stream: Socket } }).connection;
        stream.destroy(new Error('Connection terminated by the test'));
      };
      if (moment === 'before') cut();
      return Promise.resolve(run()).then((result) => {
        cut();
        void result;
        throw new Error('Connection terminated by the test');
      }) as never;
    };
    return state;
  };

  for (const moment of ['before', 'after'] as const) {
    it(`sends the call once if the connection breaks ${moment} the commit`, async () => {
      service.model.on(/Buy/, steps(toolUse('mcp__shop__buy'), 'Done.'));
      const sessionId = await service.session({ mcp_servers: [serverId] });
      const state = breakNextStart(moment);
      await service.send(sessionId, 'Buy');
      expect(await service.ended(sessionId)).to.have.property('type', 'turn.completed');
      expect(state.broken).to.equal(true);
      expect(mcp.calls).to.have.length(1);
      const result = (await service.history(sessionId)).find(({ type }) => type === 'agent.tool_result');
      expect(result).to.include({ is_error: false, content: 'bought' });
    });
  }
});
