import { expect } from 'chai';
import { McpServers, type TestTool } from '../../support/mcp-server.js';
import { use, useService } from '../../support/use.js';

const tools = (count: number): TestTool[] => Array.from({ length: count }, (_, number) => ({ name: `t${number + 1}` }));

describe('MCP servers with more tools than are kept', () => {
  const servers = use(
    () => Promise.resolve(new McpServers()),
    (started) => started.close(),
  );
  const service = useService(() => ({ config: { mcpAllowedHosts: servers.hosts } }));

  const names = (body: { tools: { name: string }[] }): string[] => body.tools.map(({ name }) => name);
  const create = (mcp_server_id: string, name: string) => {
    const configs = [{ name, permission_policy: { type: 'always_ask' } }];
    const toolset = { type: 'mcp_toolset', mcp_server_id, configs };
    const session = { model_id: 'test-model', mcp_servers: [mcp_server_id], tools: [toolset] };
    return service.api('POST', '/v1/sessions', session);
  };

  it('MCP servers with more tools than are kept count those that are left out, and keep the allowed ones', async () => {
    const { server, made, path } = await servers.register(service, { tools: tools(2044) });
    const { body: before } = await service.api('GET', path);
    expect([before.tools.length, before.tools_left_out, names(before).at(-1)]).to.deep.equal([2000, 44, 't2000']);

    const refused = await create(made.id, 't2044');
    expect([refused.status, refused.body.error.message]).to.deep.equal([
      422,
      `The MCP server ${made.name} has no tool t2044 among the 2000 that are kept; it lists 44 more, so PATCH its allowed_tools with those that you need.`,
    ]);
    const wrong = await service.api('PATCH', path, { allowed_tools: ['t2044', 'none'] });
    expect([wrong.status, wrong.body.error.details.tools]).to.deep.equal([422, ['none']]);

    const { status, body: after } = await service.api('PATCH', path, { allowed_tools: ['t2044', 't1'] });
    expect(status, JSON.stringify(after).slice(0, 500)).to.equal(200);
    expect([after.tools.length, after.tools_left_out]).to.deep.equal([2000, 44]);
    expect(names(after).slice(-2), 'in the server’s order').to.deep.equal(['t1999', 't2044']);
    expect((await create(made.id, 't2044')).status).to.equal(201);
    const notAllowed = await create(made.id, 't2');
    expect(notAllowed.body.error.message).to.equal(`allowed_tools of the MCP server ${made.name} does not have t2.`);

    server.options.tools = tools(3);
    const { body: probed } = await service.api('POST', `${path}/probe`);
    expect([names(probed), probed.tools_left_out]).to.deep.equal([['t1', 't2', 't3'], 0]);
  });

  it('MCP servers with more tools than are kept can be registered with any of them allowed', async () => {
    const { made } = await servers.register(service, { tools: tools(2001) }, { allowed_tools: ['t2001'] });
    expect(made).to.include({ tools_left_out: 1 });
    expect((await create(made.id, 't2001')).status).to.equal(201);
  });

  it('MCP servers with more tools than are kept count names that cannot be used, and a repeated name once', async () => {
    const listed = [{ name: 'a' }, { name: 'a' }, { name: 'b\u202ec' }, { name: 'n'.repeat(129) }, { name: 'd' }];
    const { made } = await servers.register(service, { tools: listed });
    expect(made).to.include({ tools_left_out: 2 });
    const unknown = await create(made.id, 'e');
    expect(unknown.body.error.message).to.include('has no tool e among the 2 that are kept; it lists 2 more');
  });
});
