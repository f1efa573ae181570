import { expect } from 'chai';
import { connectServers } from '../../../../activities/tools/mcp/connect.js';
import { createLogger } from '../../../../src/platform/logger.js';
import { findServers } from '../../../../src/mcp/find-servers.js';
import type { McpServerRow } from '../../../../src/db/entities/mcp-servers.js';
import { mcpCalls, type McpCalls } from '../../../support/mcp-calls.js';
import { startMcpServer, type TestMcpServer } from '../../../support/mcp-server.js';
import { startService, type TestService } from '../../../support/service.js';

const REFUSED = 'The MCP server could not be connected: it refused the connection.';
const SILENT = 'The MCP server could not be connected: it did not answer within 8 seconds.';

describe('connecting the MCP servers of a turn', () => {
  let service: TestService;
  let servers: TestMcpServer[];
  let ids: string[];
  let calls: McpCalls;
  before(async () => {
    servers = await Promise.all(['one', 'two', 'three'].map(() => startMcpServer({ tools: [{ name: 'a' }] })));
    const hosts = servers.map(({ host }) => host);
    service = await startService({ config: { mcpAllowedHosts: hosts } });
    ids = [];
    for (const [index, { url }] of servers.entries()) {
      ids.push((await service.api('POST', '/v1/mcp-servers', { name: `server-${index}`, url })).body.id);
    }
    calls = mcpCalls({ hosts });
  });
  after(async () => {
    await calls.close();
    await service.close();
    for (const server of servers) await server.close();
  });

  const rows = async (): Promise<McpServerRow[]> => {
    const [project] = await service.db.query<{ id: string }[]>(`SELECT id FROM projects WHERE name = 'demo'`);
    return findServers(service.db, project!.id, ids);
  };
  /** The failure of each server, in order. */
  const connect = async (signal = new AbortController().signal): Promise<(string | null)[]> => {
    const deps = { mcp: calls.mcp, db: service.db, log: createLogger('silent', 'test') };
    return (await connectServers(await rows(), { askingServerIds: [], user: null }, deps, signal)).map(
      ({ failure }) => failure,
    );
  };
  const shown = async (index: number): Promise<Record<string, string | null>> =>
    (await service.api('GET', `/v1/mcp-servers/${ids[index]}`)).body;

  it('connecting the MCP servers of a turn records when each was connected', async () => {
    const before = await shown(0);
    expect(await connect()).to.deep.equal([null, null, null]);
    const after = await shown(0);
    expect(after).to.deep.equal({ ...before, last_connected_at: after.last_connected_at });
    expect(after.last_connected_at! > before.created_at!).to.equal(true);
    await connect();
    expect((await shown(0)).last_connected_at! > after.last_connected_at!, 'at every turn').to.equal(true);
  });

  it('connecting the MCP servers of a turn records why a connection failed, in parallel to the others, after at most 8 s', async () => {
    const before = [await shown(0), await shown(1)];
    await servers[0]!.kill();
    servers[1]!.options.gateway = () => true;
    const begun = Date.now();
    const outcomes = await connect();
    // A second attempt would have ended after 16 s.
    expect(Date.now() - begun).to.be.within(7500, 15_000);
    expect(outcomes).to.deep.equal([REFUSED, SILENT, null]);
    expect(await shown(0)).to.deep.equal({ ...before[0], last_connect_error: REFUSED });
    expect(await shown(1)).to.deep.equal({ ...before[1], last_connect_error: SILENT });
  });

  it('connecting the MCP servers of a turn clears the error with the next success', async () => {
    await servers[0]!.restart();
    servers[1]!.options.gateway = undefined;
    expect(await connect()).to.deep.equal([null, null, null]);
    expect((await shown(0)).last_connect_error).to.equal(null);
  });

  it('connecting the MCP servers of a turn stops at once when the turn is cancelled, and records nothing', async () => {
    const cancel = new AbortController();
    const reason = new Error('cancelled');
    servers[0]!.options.gateway = () => {
      cancel.abort(reason);
      return true;
    };
    await servers[0]!.restart();
    const before = await shown(0);
    const begun = Date.now();
    expect(await connect(cancel.signal).catch((error: unknown) => error)).to.equal(reason);
    expect(Date.now() - begun).to.be.lessThan(5000);
    expect(await shown(0)).to.deep.equal(before);
    servers[0]!.options.gateway = undefined;
  });

  it('connecting the MCP servers of a turn gives each connection of its own 8 s, however many of the project wait for their turn', async () => {
    const [, , server] = await rows();
    servers[2]!.options.gateway = async (_req, _res, body) => {
      if (body.includes('"initialize"')) await new Promise((resolve) => setTimeout(resolve, 4500));
      return false;
    };
    // One more than a project opens at a time.
    const opening = Array.from({ length: 17 }, () => calls.mcp.openOwn(server!, new AbortController().signal));
    const opened = await Promise.allSettled(opening);
    servers[2]!.options.gateway = undefined;
    expect(opened.map(({ status }) => status)).to.deep.equal(opened.map(() => 'fulfilled'));
    for (const one of opened) if (one.status === 'fulfilled') await one.value.close();
  });
});
