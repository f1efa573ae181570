import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { McpServers, type McpServerOptions } from '../../support/mcp-server.js';
import type { TestService } from '../../support/service.js';
import { useService } from '../../support/use.js';

const OLD = 'old-secret-0123456789';
const NEW = 'new-secret-0123456789';

describe('MCP servers: get, list, patch, probe, delete', () => {
  const servers = new McpServers();
  const service = useService(() => ({ config: { mcpAllowedHosts: servers.hosts } }));
  after(() => servers.close());

  let names = 0;
  const newName = (): string => `renamed-${(names += 1)}`;
  /** A server with tools a and b, registered. */
  const registered = async (options: McpServerOptions = {}, body: Record<string, unknown> = {}) => {
    const one = await servers.register(service, { tools: [{ name: 'a' }, { name: 'b' }], ...options }, body);
    return { ...one, patch: (change: unknown) => service.api('PATCH', one.path, change) };
  };
  const typeOf = ({ status, body }: Awaited<ReturnType<TestService['api']>>): unknown[] => [status, body.error.type];

  describe('PATCH', () => {
    it('PATCH of an MCP server renames only', async () => {
      const { made, patch, server, path } = await registered();
      const before = server.log.length;
      const name = newName();
      const { status, body } = await patch({ name });
      expect(status).to.equal(200);
      expect(body).to.deep.equal({ ...made, name, updated_at: body.updated_at });
      expect(body.updated_at > made.updated_at).to.equal(true);
      expect(server.log.length, 'no probe').to.equal(before);
      expect((await service.api('GET', path)).body).to.deep.equal(body);
      expect((await patch({ name })).status, 'its own name again').to.equal(200);
    });

    it('PATCH of an MCP server changes no field if none is given', async () => {
      const { made, patch } = await registered();
      const { status, body } = await patch({});
      expect([status, body]).to.deep.equal([200, made]);
    });

    it('PATCH of an MCP server refuses fields that cannot be changed and invalid values', async () => {
      const { patch, made } = await registered();
      for (const [wrong, path] of [
        [{ name: null }, '/name'],
        [{ name: 'A' }, '/name'],
        [{ auth: null }, '/auth'],
        [{ auth: { type: 'HEADER', name: 'Connection', value: 'x' } }, '/auth/name'],
        [{ auth: { type: 'BEARER' } }, '/auth/token'],
        [{ allowed_tools: [] }, '/allowed_tools'],
        [{ url: made.url }, '/url'],
      ] as const) {
        const answer = await patch(wrong);
        expect(typeOf(answer)).to.deep.equal([422, 'validation_error']);
        expect(answer.body.error.details.errors[0].path).to.equal(path);
      }
    });

    it('PATCH of an MCP server refuses a name that is taken, also of parallel requests', async () => {
      const [one, two] = [await registered(), await registered()];
      expect(typeOf(await one.patch({ name: two.made.name }))).to.deep.equal([409, 'mcp_server_name_taken']);
      const name = newName();
      const answers = await Promise.all([one.patch({ name }), two.patch({ name })]);
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409]);
    });

    it('PATCH of an MCP server sets and lifts the allow-list, checked against the current tools', async () => {
      const { patch } = await registered();
      expect((await patch({ allowed_tools: ['b'] })).body.allowed_tools).to.deep.equal(['b']);
      const wrong = await patch({ allowed_tools: ['b', 'x'] });
      expect(typeOf(wrong)).to.deep.equal([422, 'unknown_mcp_tool']);
      expect(wrong.body.error.details).to.deep.equal({ tools: ['x'] });
      expect((await patch({ name: newName() })).body.allowed_tools, 'absent: unchanged').to.deep.equal(['b']);
      expect((await patch({ allowed_tools: null })).body.allowed_tools).to.equal(null);
    });

    it('PATCH of an MCP server tries a new credential, and refreshes the tools with it', async () => {
      const { server, patch, made } = await registered();
      server.options.auth = { header: 'authorization', value: `Bearer ${NEW}` };
      server.options.tools = [{ name: 'c' }];
      const { status, body } = await patch({ auth: { type: 'BEARER', token: NEW }, allowed_tools: ['c'] });
      expect(status).to.equal(200);
      expect(body.tools).to.deep.equal([{ name: 'c', description: '' }]);
      expect(body).to.deep.include({ auth: { type: 'BEARER', name: null }, allowed_tools: ['c'] });
      expect(body.last_probed_at > made.last_probed_at).to.equal(true);
      expect((await service.api('POST', `/v1/mcp-servers/${made.id}/probe`)).status, 'stored').to.equal(200);
    });

    it('PATCH of an MCP server saves no change when the probe fails or the allow-list is wrong', async () => {
      const auth = { header: 'authorization', value: `Bearer ${OLD}` };
      const { patch, path, made } = await registered({ auth }, { auth: { type: 'BEARER', token: OLD } });
      const failed = await patch({ name: newName(), auth: { type: 'BEARER', token: NEW }, allowed_tools: ['a'] });
      expect(typeOf(failed)).to.deep.equal([422, 'mcp_probe_failed']);
      expect(JSON.stringify(failed.body)).not.to.include(NEW).and.not.to.include(OLD);
      const unknown = await patch({ name: newName(), auth: { type: 'BEARER', token: OLD }, allowed_tools: ['x'] });
      expect(typeOf(unknown)).to.deep.equal([422, 'unknown_mcp_tool']);
      expect((await service.api('GET', path)).body).to.deep.equal(made);
      expect((await service.api('POST', `${path}/probe`)).status, 'the old credential still works').to.equal(200);
    });

    it('PATCH of an MCP server keeps everything when the server offers no OAuth', async () => {
      const { patch, path } = await registered();
      const { body: made } = await service.api('GET', path);
      expect(typeOf(await patch({ auth: { type: 'OAUTH' } }))).to.deep.equal([422, 'mcp_oauth_failed']);
      expect((await service.api('GET', path)).body).to.deep.equal(made);
    });

    it('PATCH of an MCP server refuses a re-probe when the address no longer passes', async () => {
      const { patch, server, path } = await registered();
      servers.hosts.splice(servers.hosts.indexOf(server.host), 1);
      expect(typeOf(await patch({ auth: { type: 'NONE' } }))).to.deep.equal([422, 'invalid_mcp_server_url']);
      expect(typeOf(await service.api('POST', `${path}/probe`))).to.deep.equal([422, 'invalid_mcp_server_url']);
      expect((await patch({ name: newName() })).status, 'no probe, no check').to.equal(200);
      servers.hosts.push(server.host);
    });
  });

  describe('POST probe', () => {
    it('POST probe refreshes the tools and leaves updated_at alone', async () => {
      const { server, path, made } = await registered();
      server.options.tools = [{ name: 'b' }, { name: 'new', description: 'New.' }];
      const { status, body } = await service.api('POST', `${path}/probe`);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        ...made,
        tools: [
          { name: 'b', description: '' },
          { name: 'new', description: 'New.' },
        ],
        last_probed_at: body.last_probed_at,
      });
      expect(body.last_probed_at > made.last_probed_at).to.equal(true);
      expect((await service.api('GET', path)).body).to.deep.equal(body);
    });

    it('POST probe changes nothing when it fails', async () => {
      const { server, path, made } = await registered();
      await server.close();
      const answer = await service.api('POST', `${path}/probe`);
      expect(typeOf(answer)).to.deep.equal([422, 'mcp_probe_failed']);
      expect(answer.body.error.message).to.match(/refused the connection/);
      expect((await service.api('GET', path)).body).to.deep.equal(made);
    });

    it('POST probe does not bring back a credential that was changed meanwhile', async () => {
      let hold: (() => void) | undefined;
      const { server, path, patch } = await registered();
      server.options.gateway = async (_, __, body) => {
        if (body.includes('tools/list') && hold === undefined) await new Promise<void>((resolve) => (hold = resolve));
        return false;
      };
      const probing = service.api('POST', `${path}/probe`);
      await eventually('the probe asks for the tools', () => hold !== undefined);
      server.options.tools = [{ name: 'later' }];
      const changed = await patch({ auth: { type: 'BEARER', token: NEW } });
      server.options.tools = [{ name: 'earlier' }];
      hold!();
      expect((await probing).body).to.deep.equal(changed.body);
    });
  });

  describe('DELETE', () => {
    it('DELETE of an MCP server takes it away, wipes the credential and frees name and url', async () => {
      const auth = { header: 'authorization', value: `Bearer ${OLD}` };
      const { path, made } = await registered({ auth }, { auth: { type: 'BEARER', token: OLD } });
      const { status, body } = await service.api('DELETE', path);
      expect([status, body]).to.deep.equal([204, null]);
      for (const [method, at] of [
        ['GET', path],
        ['PATCH', path],
        ['POST', `${path}/probe`],
        ['DELETE', path],
      ] as const) {
        expect(typeOf(await service.api(method, at, method === 'PATCH' ? {} : undefined))).to.deep.equal([
          404,
          'mcp_server_not_found',
        ]);
      }
      const [row] = await service.db.query('SELECT credential FROM mcp_servers WHERE id = $1', [made.id]);
      expect(row).to.deep.equal({ credential: null });
      const { items } = (await service.api('GET', '/v1/mcp-servers?limit=100')).body;
      expect(items.map(({ id }: { id: string }) => id)).not.to.include(made.id);
      const again = await service.api('POST', '/v1/mcp-servers', {
        name: made.name,
        url: made.url,
        auth: { type: 'BEARER', token: OLD },
      });
      expect(again.status).to.equal(201);
      expect(again.body.id).not.to.equal(made.id);
    });

    it('DELETE of an MCP server wins over a probe that is under way', async () => {
      const { server, path } = await registered();
      server.options.gateway = async (_, __, body) => {
        if (body.includes('tools/list')) expect((await service.api('DELETE', path)).status).to.equal(204);
        return false;
      };
      expect(typeOf(await service.api('POST', `${path}/probe`))).to.deep.equal([404, 'mcp_server_not_found']);
    });
  });
});
