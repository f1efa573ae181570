import { expect } from 'chai';
import type { ApiResponse } from '../support/client.js';
import { insertMcpServer } from '../support/factories.js';
import { reachedLimit, type LIMITS } from '../support/rows.js';
import { upload } from '../support/upload.js';
import { useMcpServer, useService } from '../support/use.js';

/** A request at the bound and one beyond it, and what they are answered, as `201` or `422 validation_error`. */
type Bound = [
  limit: (typeof LIMITS)[number],
  request: (size: number) => Promise<ApiResponse>,
  at: [size: number, answer: string],
  beyond: [size: number, answer: string],
];

const pairs = (count: number, prefix = 'k'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'v']));

/** Limits of docs/limits.md that requests can go to: at the bound, and one beyond. Characters are code points. */
describe('limits', () => {
  const mcp = useMcpServer({
    tools: [
      ...Array.from({ length: 1999 }, (_, i) => ({ name: `tool-${i}`, description: i === 0 ? '😀'.repeat(501) : '' })),
      { name: 'n'.repeat(129) },
      { name: 'n'.repeat(128), description: 'd'.repeat(500) },
      { name: 'the-2001st' },
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

  const INVALID = '422 validation_error';
  // A name within its limit gets as far as the probe.
  const PROBED = '422 mcp_probe_failed';
  const bounds: Bound[] = [
    ['instruction: 100,000 characters', (n) => create({ instruction: many(n) }), [100_000, '201'], [100_001, INVALID]],
    ['MCP servers of a session: 10', (n) => create({ mcp_servers: servers(n) }), [10, '201'], [11, INVALID]],
    ['metadata: 16 pairs', (n) => create({ metadata: pairs(n) }), [16, '201'], [17, INVALID]],
    ['metadata key: 1 character', (n) => create({ metadata: { [many(n)]: '' } }), [1, '201'], [0, INVALID]],
    ['metadata key: 64 characters', (n) => create({ metadata: { [many(n)]: '' } }), [64, '201'], [65, INVALID]],
    ['metadata value: 512 characters', (n) => create({ metadata: { k: many(n) } }), [512, '201'], [513, INVALID]],
    ['metadata patch: 32 keys', (n) => patch({ ...pairs(16), ...nulls(n - 16) }), [32, '200'], [33, INVALID]],
    [
      'metadata after a patch: 16 pairs',
      (n) => patch({ new: 'v', ...(n === 16 && { k0: null }) }, pairs(16)),
      [16, '200'],
      [17, '422 metadata_too_large'],
    ],
    ['MCP server name: 1 character', (n) => register({ name: 'n'.repeat(n) }), [1, PROBED], [0, INVALID]],
    ['MCP server name: 64 characters', (n) => register({ name: 'n'.repeat(n) }), [64, PROBED], [65, INVALID]],
    ['allowed_tools: 2,000 names', (n) => register({ allowed_tools: names(n) }), [2000, PROBED], [2001, INVALID]],
    ['file name: 1 character', (n) => upload(service, `folder/${many(n)}`), [1, '201'], [0, '422 invalid_filename']],
    ['file name: 255 characters', (n) => upload(service, many(n)), [255, '201'], [256, '422 invalid_filename']],
    ['page: 1 item', (n) => service.api('GET', `/v1/files?limit=${n}`), [1, '200'], [0, INVALID]],
    ['page: 100 items', (n) => service.api('GET', `/v1/files?limit=${n}`), [100, '200'], [101, INVALID]],
  ];
  const shown = ({ status, body }: ApiResponse): string => `${status} ${body.error?.type ?? ''}`.trim();

  for (const [limit, request, ...answers] of bounds) {
    it(limit, async () => {
      for (const [size, expected] of answers) expect(shown(await request(size)), `${size}`).to.equal(expected);
      reachedLimit(limit);
    });
  }

  it('MCP tools: 2,000 kept, names of 128 characters, descriptions cut at 500', async () => {
    const { status, body } = await register({ name: 'many', url: mcp.url });
    expect(status, JSON.stringify(body)).to.equal(201);
    const tools = body.tools as { name: string; description: string }[];
    expect(tools).to.have.length(2000);
    // One with a name that is too long, and one too many.
    expect(body.tools_left_out).to.equal(2);
    expect(tools.map(({ name }) => name))
      .to.include('n'.repeat(128))
      .and.not.include('n'.repeat(129));
    expect(tools.map(({ name }) => name)).to.not.include('the-2001st');
    expect(tools[0]!.description).to.equal(many(500));
    expect(tools.at(-1)!.description).to.have.length(500);
    reachedLimit('MCP tools kept: 2,000');
    reachedLimit('MCP tool name: 128 characters');
    reachedLimit('MCP tool description: 500 characters');
  });
});

const nulls = (count: number): Record<string, null> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, null]));
