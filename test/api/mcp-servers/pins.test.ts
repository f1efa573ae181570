import { expect } from 'chai';
import { McpServers, type TestMcpServer, type TestTool } from '../../support/mcp-server.js';
import { startService, type TestService } from '../../support/service.js';

describe('pinned tools of an MCP server', () => {
  let service: TestService;
  const servers = new McpServers();
  before(async () => {
    service = await startService({ config: { mcpAllowedHosts: servers.hosts } });
  });
  after(async () => {
    await service.close();
    await servers.close();
  });

  const registered = async (
    tools: TestTool[],
    body: Record<string, unknown> = {},
  ): Promise<{ server: TestMcpServer; path: string; probe: () => ReturnType<TestService['api']> }> => {
    const server = await servers.start({ tools });
    const name = `pins-${servers.hosts.length}`;
    const answer = await service.api('POST', '/v1/mcp-servers', { name, url: server.url, ...body });
    expect(answer.status).to.equal(201);
    const path = `/v1/mcp-servers/${answer.body.id}`;
    return { server, path, probe: () => service.api('POST', `${path}/probe`) };
  };
  const namesOf = ({ body }: Awaited<ReturnType<TestService['api']>>): string[] =>
    body.changed_tools.map(({ name }: { name: string }) => name);

  it('are compared by description and schema at each probe', async () => {
    const number = { type: 'object' as const, properties: { a: { type: 'number' } } };
    const text = { type: 'object' as const, properties: { a: { type: 'string' } } };
    const { server, probe } = await registered([{ name: 'a', inputSchema: number }, { name: 'b' }], {
      pin_tools: true,
    });
    expect(namesOf(await probe())).to.deep.equal([]);
    server.options.tools = [{ name: 'a', inputSchema: text }, { name: 'b' }];
    const { body } = await probe();
    expect(body.tools.map(({ name }: { name: string }) => name)).to.deep.equal(['a', 'b']);
    expect(body.changed_tools).to.deep.equal([
      {
        name: 'a',
        before: { description: '', input_schema: number },
        after: { description: '', input_schema: text },
      },
    ]);
    server.options.tools = [{ name: 'a', inputSchema: number }];
    expect(namesOf(await probe()), 'changed back').to.deep.equal([]);
  });

  it('are accepted one by one or all together', async () => {
    const { server, path, probe } = await registered([{ name: 'a' }], { pin_tools: true });
    server.options.tools = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
    expect(namesOf(await probe())).to.deep.equal(['b', 'c']);
    const accept = (body: unknown): ReturnType<TestService['api']> => service.api('POST', `${path}/accept-tools`, body);
    const unknown = await accept({ names: ['b', 'x'] });
    expect([unknown.status, unknown.body.error.type]).to.deep.equal([422, 'unknown_mcp_tool']);
    expect(unknown.body.error.details).to.deep.equal({ tools: ['x'] });
    const one = await accept({ names: ['b', 'a'] });
    expect([one.status, namesOf(one)]).to.deep.equal([200, ['c']]);
    expect(namesOf(await accept({}))).to.deep.equal([]);
    expect(namesOf(await probe())).to.deep.equal([]);
    expect((await accept({ names: [] })).status).to.equal(422);
    expect((await accept({ names: ['b'], extra: 1 })).status).to.equal(422);
  });

  it('are pinned and unpinned by PATCH', async () => {
    const { server, path, probe } = await registered([{ name: 'a' }]);
    server.options.tools = [{ name: 'a', description: 'new' }];
    expect(namesOf(await probe()), 'not pinned').to.deep.equal([]);
    const pinned = await service.api('PATCH', path, { pin_tools: true });
    expect([pinned.body.pin_tools, namesOf(pinned)]).to.deep.equal([true, []]);
    server.options.tools = [{ name: 'a', description: 'newer' }];
    expect(namesOf(await probe())).to.deep.equal(['a']);
    const unpinned = await service.api('PATCH', path, { pin_tools: false });
    expect([unpinned.body.pin_tools, namesOf(unpinned)]).to.deep.equal([false, []]);
  });

  it('need mcp_servers:write and are of one project', async () => {
    const { path } = await registered([]);
    const reader = service.as(await service.newKey({ scopes: ['mcp_servers:read'] }));
    expect((await reader('POST', `${path}/accept-tools`, {})).status).to.equal(403);
    const stranger = service.as(await service.newKey({ project: 'stranger' }));
    expect((await stranger('POST', `${path}/accept-tools`, {})).status).to.equal(404);
  });

  it('show schemas up to a limit', async () => {
    const large = (name: string): TestTool => ({
      name,
      inputSchema: { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(40_000) } } },
    });
    const { server, probe } = await registered([], { pin_tools: true });
    server.options.tools = [large('a'), large('b')];
    const { body } = await probe();
    const schemas = body.changed_tools.map(({ after }: { after: { input_schema: unknown } }) => after.input_schema);
    expect(schemas[0].properties.a.description).to.have.length(40_000);
    expect(schemas[1]).to.equal(null);
  });
});
