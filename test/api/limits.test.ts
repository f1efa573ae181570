import { expect } from 'chai';
import type { ApiResponse } from '../support/client.js';
import { insertMcpServer } from '../support/factories.js';
import { reachedLimit, type LIMITS } from '../support/rows.js';
import { upload } from '../support/upload.js';
import { useMcpServer, useService } from '../support/use.js';

/** A request at the bound and one beyond it, and what they are answered, as `201` or `422 validation_error`. */
interface Bound {
  limit: (typeof LIMITS)[number];
  at: () => Promise<ApiResponse>;
  taken: string;
  beyond: () => Promise<ApiResponse>;
  refused: string;
}

const pairs = (count: number, prefix = 'k'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'v']));

/** Limits of docs/limits.md that requests can go to: at the bound, and one beyond. Characters are code points. */
describe('limits', () => {
  const mcp = useMcpServer({
    tools: [
      ...Array.from({ length: 255 }, (_, i) => ({ name: `tool-${i}`, description: i === 0 ? '😀'.repeat(501) : '' })),
      { name: 'n'.repeat(129) },
      { name: 'n'.repeat(128), description: 'd'.repeat(500) },
      { name: 'the-257th' },
    ],
  });
  const service = useService(() => ({ config: { mcpAllowedHosts: [mcp.host] } }));
  before(async () => {
    for (let number = 0; number < 11; number += 1) await insertMcpServer(service.db, `mcp_${number}`);
  });

  const create = (body: object): Promise<ApiResponse> =>
    service.api('POST', '/v1/sessions', { model_id: 'test-model', ...body });
  const session = async (body: object = {}): Promise<string> => (await create(body)).body.id as string;
  const patch = async (metadata: object, before: object = {}): Promise<ApiResponse> =>
    service.api('PATCH', `/v1/sessions/${await session({ metadata: before })}`, { metadata });
  const register = (body: object): Promise<ApiResponse> =>
    service.api('POST', '/v1/mcp-servers', { name: 'limits', url: 'https://mcp.invalid/mcp', ...body });
  const servers = (count: number): string[] => Array.from({ length: count }, (_, number) => `mcp_${number}`);
  const names = (count: number): string[] => Array.from({ length: count }, (_, number) => `t${number}`);
  const many = (count: number): string => '😀'.repeat(count);

  const bounds: Bound[] = [
    {
      limit: 'instruction: 100,000 characters',
      at: () => create({ instruction: many(100_000) }),
      taken: '201',
      beyond: () => create({ instruction: many(100_001) }),
      refused: '422 validation_error',
    },
    {
      limit: 'MCP servers of a session: 10',
      at: () => create({ mcp_servers: servers(10) }),
      taken: '201',
      beyond: () => create({ mcp_servers: servers(11) }),
      refused: '422 validation_error',
    },
    {
      limit: 'metadata: 16 pairs',
      at: () => create({ metadata: pairs(16) }),
      taken: '201',
      beyond: () => create({ metadata: pairs(17) }),
      refused: '422 validation_error',
    },
    {
      limit: 'metadata key: 1 character',
      at: () => create({ metadata: { k: '' } }),
      taken: '201',
      beyond: () => create({ metadata: { '': '' } }),
      refused: '422 validation_error',
    },
    {
      limit: 'metadata key: 64 characters',
      at: () => create({ metadata: { [many(64)]: '' } }),
      taken: '201',
      beyond: () => create({ metadata: { [many(65)]: '' } }),
      refused: '422 validation_error',
    },
    {
      limit: 'metadata value: 512 characters',
      at: () => create({ metadata: { k: many(512) } }),
      taken: '201',
      beyond: () => create({ metadata: { k: many(513) } }),
      refused: '422 validation_error',
    },
    {
      limit: 'metadata patch: 32 keys',
      at: () => patch({ ...pairs(16), ...nulls(16) }),
      taken: '200',
      beyond: () => patch({ ...pairs(16), ...nulls(17) }),
      refused: '422 validation_error',
    },
    {
      limit: 'metadata after a patch: 16 pairs',
      at: () => patch({ new: 'v', k0: null }, pairs(16)),
      taken: '200',
      beyond: () => patch({ new: 'v' }, pairs(16)),
      refused: '422 metadata_too_large',
    },
    // A name within its limit gets as far as the probe.
    {
      limit: 'MCP server name: 1 character',
      at: () => register({ name: 'n' }),
      taken: '422 mcp_probe_failed',
      beyond: () => register({ name: '' }),
      refused: '422 validation_error',
    },
    {
      limit: 'MCP server name: 64 characters',
      at: () => register({ name: 'n'.repeat(64) }),
      taken: '422 mcp_probe_failed',
      beyond: () => register({ name: 'n'.repeat(65) }),
      refused: '422 validation_error',
    },
    {
      limit: 'allowed_tools: 256 names',
      at: () => register({ allowed_tools: names(256) }),
      taken: '422 mcp_probe_failed',
      beyond: () => register({ allowed_tools: names(257) }),
      refused: '422 validation_error',
    },
    {
      limit: 'file name: 1 character',
      at: () => upload(service, 'f'),
      taken: '201',
      beyond: () => upload(service, 'folder/'),
      refused: '422 invalid_filename',
    },
    {
      limit: 'file name: 255 characters',
      at: () => upload(service, many(255)),
      taken: '201',
      beyond: () => upload(service, many(256)),
      refused: '422 invalid_filename',
    },
    {
      limit: 'page: 1 item',
      at: () => service.api('GET', '/v1/files?limit=1'),
      taken: '200',
      beyond: () => service.api('GET', '/v1/files?limit=0'),
      refused: '422 validation_error',
    },
    {
      limit: 'page: 100 items',
      at: () => service.api('GET', '/v1/files?limit=100'),
      taken: '200',
      beyond: () => service.api('GET', '/v1/files?limit=101'),
      refused: '422 validation_error',
    },
  ];
  const shown = ({ status, body }: ApiResponse): string => `${status} ${body.error?.type ?? ''}`.trim();

  for (const { limit, at, taken, beyond, refused } of bounds) {
    it(limit, async () => {
      expect([shown(await at()), shown(await beyond())]).to.deep.equal([taken, refused]);
      reachedLimit(limit);
    });
  }

  it('MCP tools: 256 kept, names of 128 characters, descriptions cut at 500', async () => {
    const { status, body } = await register({ name: 'many', url: mcp.url });
    expect(status, JSON.stringify(body)).to.equal(201);
    const tools = body.tools as { name: string; description: string }[];
    expect(tools).to.have.length(256);
    expect(tools.map(({ name }) => name))
      .to.include('n'.repeat(128))
      .and.not.include('n'.repeat(129));
    expect(tools.map(({ name }) => name)).to.not.include('the-257th');
    expect(tools[0]!.description).to.equal(many(500));
    expect(tools.at(-1)!.description).to.have.length(500);
    reachedLimit('MCP tools kept: 256');
    reachedLimit('MCP tool name: 128 characters');
    reachedLimit('MCP tool description: 500 characters');
  });

  it('running turns of a project', async () => {
    const api = service.as(await service.newKey({ project: 'small', maxRunningTurns: 2 }));
    const sessions = await Promise.all(
      [1, 2, 3].map(async () => (await api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string),
    );
    const send = (id: string): Promise<ApiResponse> => api('POST', `/v1/sessions/${id}/messages`, { content: 'Hello' });
    expect([shown(await send(sessions[0]!)), shown(await send(sessions[1]!))]).to.deep.equal(['201', '201']);
    const third = await send(sessions[2]!);
    expect(shown(third)).to.equal('429 too_many_running_turns');
    expect(third.body.error.details).to.deep.equal({ max_running_turns: 2 });
    expect(shown(await send(sessions[0]!))).to.equal('409 session_running');
    expect((await api('POST', `/v1/sessions/${sessions[0]}/cancel`)).body.status).to.equal('CANCELLED');
    expect(shown(await send(sessions[2]!))).to.equal('201');
    reachedLimit('running turns of a project');
  });
});

const nulls = (count: number): Record<string, null> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, null]));
