import { expect } from 'chai';
import type { Scope } from '../../../src/projects/permissions.js';
import { eventually } from '../../support/eventually.js';
import { McpServers, tokenGateway, type McpServerOptions, type TestTool } from '../../support/mcp-server.js';
import { allItems } from '../../support/pages.js';
import { reachedLimit } from '../../support/rows.js';
import type { TestService } from '../../support/service.js';
import { useService } from '../../support/use.js';

const SECRET = 'secret-0123456789';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

type Answer = Awaited<ReturnType<TestService['api']>>;

const textOf = ({ status, body }: Answer): string => {
  expect([status, body.is_error], JSON.stringify(body)).to.deep.equal([200, true]);
  return body.content[0].text as string;
};
const wrong = ({ status, body }: Answer): [number, string, string] => [
  status,
  body.error?.type,
  body.error?.details?.errors?.[0]?.path,
];

describe('tools of an MCP server', () => {
  const servers = new McpServers();
  const service = useService(() => ({ config: { mcpAllowedHosts: servers.hosts } }));
  after(() => servers.close());

  const registered = async (options: McpServerOptions, body: Record<string, unknown> = {}) => {
    const { server, path } = await servers.register(service, options, body);
    return {
      server,
      path,
      list: () => service.api('GET', `${path}/tools`),
      call: (tool: string, input: object = {}, rest: object = {}): Promise<Answer> =>
        service.api('POST', `${path}/tools/${encodeURIComponent(tool)}/call`, { input, ...rest }),
    };
  };

  const withTool = (run: TestTool['run'], rest: Partial<TestTool> = {}, body: Record<string, unknown> = {}) =>
    registered({ tools: [{ name: 'a', run, ...rest }] }, body);
  describe('GET /v1/mcp-servers/{id}/tools', () => {
    it('GET tools shows each tool as turns offer it, in the order of the server', async () => {
      const inputSchema = { type: 'object' as const, properties: { days: { type: 'int' } }, required: ['days'] };
      const { path, list, server } = await registered(
        {
          tasks: true,
          tools: [
            { name: 'z', description: 'Lists.', inputSchema, annotations: { readOnlyHint: true, title: 'Z' } },
            { name: 'slow', task: () => undefined },
            { name: 'hidden' },
          ],
        },
        { allowed_tools: ['z', 'slow'], pin_tools: true },
      );
      server.options.tools!.push({ name: 'new' });
      await service.api('PATCH', path, { allowed_tools: null });
      await service.api('POST', `${path}/probe`);
      await service.api('PATCH', path, { allowed_tools: ['z', 'slow', 'new'] });
      const { status, body } = await list();
      expect(status).to.equal(200);
      const plain = { description: '', input_schema: { type: 'object', properties: {} }, annotations: null };
      const items = (body.items as { input_schema: object }[]).map((item) => ({
        ...item,
        input_schema: { properties: {}, ...item.input_schema },
      }));
      expect(items).to.deep.equal([
        {
          name: 'z',
          description: 'Lists.',
          input_schema: { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
          annotations: { readOnlyHint: true },
          task_support: null,
          status: 'offered',
        },
        { name: 'slow', ...plain, task_support: 'required', status: 'offered' },
        { name: 'hidden', ...plain, task_support: null, status: 'not_allowed' },
        { name: 'new', ...plain, task_support: null, status: 'held_back' },
      ]);
      expect(await allItems(service.api, `${path}/tools?limit=1`)).to.deep.equal(body.items);
    });

    it('GET tools refuses a cursor behind a tool that is gone', async () => {
      const { path, server } = await registered({ tools: [{ name: 'a' }, { name: 'b' }] });
      const { body } = await service.api('GET', `${path}/tools?limit=1`);
      server.options.tools = [{ name: 'b' }];
      await service.api('POST', `${path}/probe`);
      const next = await service.api('GET', `${path}/tools?cursor=${body.meta.next_cursor}`);
      expect(wrong(next).slice(0, 2)).to.deep.equal([422, 'invalid_cursor']);
    });
  });

  describe('POST /v1/mcp-servers/{id}/tools/{name}/call', () => {
    it('POST call sends the input once and shows the result as the agent reads it', async () => {
      const { server, call } = await withTool(() => ({
        content: [
          { type: 'text', text: 'two are late' },
          { type: 'image', data: PNG, mimeType: 'image/png' },
          { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        ],
        structuredContent: { late: ['4711'] },
      }));
      const { status, body } = await call('a', { days: 3, deep: [{ x: null }] });
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        content: [
          { type: 'text', text: 'two are late' },
          { type: 'image', media_type: 'image/png', data: PNG },
          { type: 'text', text: '[audio (audio/wav), about 3 bytes: cannot be shown to you]' },
          { type: 'text', text: '{"late":["4711"]}' },
        ],
        is_error: false,
        duration_ms: body.duration_ms,
      });
      expect(body.duration_ms).to.be.a('number').within(0, 60_000);
      expect(server.calls.map((one) => one.arguments)).to.deep.equal([{ days: 3, deep: [{ x: null }] }]);
      expect(server.calls[0]!.meta['agent-session-service/idempotency-key']).to.be.a('string');
      await eventually('its MCP session has ended', () => server.log.includes('DELETE'));
    });

    it('POST call shows errors of the tool and of the protocol', async () => {
      let outcome: () => unknown = () => undefined;
      const { call } = await withTool(() => outcome());
      outcome = () => ({ content: [{ type: 'text', text: 'no such order' }], isError: true });
      expect(textOf(await call('a'))).to.equal('no such order');
      outcome = () => {
        throw new Error('days is missing');
      };
      expect(textOf(await call('a'))).to.match(/answered the call of a with an error: .*days is missing/);
    });

    it('POST call sends the credential and never shows it', async () => {
      const { server, call } = await registered(
        {
          auth: { header: 'X-Key', value: SECRET },
          tools: [{ name: 'a', run: () => `you sent ${SECRET}` }],
        },
        { auth: { type: 'HEADER', name: 'X-Key', value: SECRET } },
      );
      const { body } = await call('a');
      expect(server.lastHeaders['x-key']).to.equal(SECRET);
      expect(body.content).to.deep.equal([{ type: 'text', text: 'you sent [credential]' }]);
    });

    it('POST call does not send what turns must not send', async () => {
      const { server, path, call } = await registered(
        { tasks: true, tools: [{ name: 'a' }, { name: 'b' }, { name: 'slow', task: () => undefined }] },
        { allowed_tools: ['a', 'slow'], pin_tools: true },
      );
      server.options.tools![0]!.description = 'changed';
      await service.api('POST', `${path}/probe`);
      expect(textOf(await call('a'))).to.include('held back until a person accepts it');
      expect(textOf(await call('b'))).to.include('is not allowed');
      expect(textOf(await call('slow'))).to.include('only as a task');
      expect(wrong(await call('none')).slice(0, 2)).to.deep.equal([404, 'not_found']);
      expect(server.calls).to.deep.equal([]);
    });

    it('POST call says whether the tool may have run, and does not call it again', async () => {
      const lost = await withTool(() => lost.server.kill().then(() => new Promise<never>(() => undefined)), {
        annotations: { readOnlyHint: true },
      });
      expect(textOf(await lost.call('a'))).to.include('Its outcome is unknown');
      expect(lost.server.calls).to.have.length(1);
      expect(textOf(await lost.call('a'))).to.include('It was not carried out');
    });

    it('POST call refuses integers whose digits it cannot keep, and wrong bodies', async () => {
      const { server, path, call } = await withTool(() => 'ok');
      const raw = await service.api('POST', `${path}/tools/a/call`, '{"input":{"ids":[1,12345678901234567890]}}');
      expect(wrong(raw)).to.deep.equal([422, 'validation_error', '/input/ids/1']);
      for (const [body, place] of [
        [{}, '/input'],
        [{ input: 'x' }, '/input'],
        [{ input: {}, extra: 1 }, '/extra'],
        [{ input: {}, user: 'two words' }, '/user'],
      ] as const) {
        const answer = await service.api('POST', `${path}/tools/a/call`, body);
        expect(wrong(answer), JSON.stringify(body)).to.deep.equal([422, 'validation_error', place]);
      }
      expect(wrong(await call('a', {}, { user: 'ann' }))).to.deep.equal([422, 'validation_error', '/user']);
      expect(server.calls).to.deep.equal([]);
    });

    it('POST call needs the permission for sessions, too', async () => {
      const { server, path } = await withTool(() => 'ok');
      const send = async (scopes: Scope[]): Promise<Answer> =>
        service.as(await service.newKey({ scopes }))('POST', `${path}/tools/a/call`, { input: {} });
      const { status, body } = await send(['mcp_servers:write']);
      expect([status, body.error.details]).to.deep.equal([403, { required: 'sessions:write' }]);
      expect(server.calls).to.deep.equal([]);
      expect((await send(['mcp_servers:write', 'sessions:write'])).status).to.equal(200);
    });

    it('POST call acts as the user of a server that has credentials of users', async () => {
      const tokens: string[] = [];
      const good = new Set(['probe-token-0001', 'anns-token-0001']);
      const { path, call } = await registered(
        {
          tools: [{ name: 'a' }],
          gateway: tokenGateway(
            (token) => good.has(token),
            (token) => tokens.push(token),
          ),
        },
        { auth: { type: 'BEARER', token: 'probe-token-0001' }, credentials: 'user' },
      );
      const id = path.split('/').at(-1)!;
      const connect = (token: string) =>
        service.api('POST', '/v1/credentials', { mcp_server_id: id, user: 'ann', auth: { type: 'BEARER', token } });
      expect(wrong(await call('a'))).to.deep.equal([422, 'validation_error', '/user']);
      expect(wrong(await call('a', {}, { user: 'ann' }))).to.deep.equal([422, 'validation_error', '/user']);
      const { body: credential } = await connect('anns-token-0001');
      expect((await call('a', {}, { user: 'ann' })).body.is_error).to.equal(false);
      expect(tokens).to.deep.equal(['anns-token-0001']);
      await eventually('its use is noted', async () => {
        const { body } = await service.api('GET', `/v1/credentials/${credential.id}`);
        return body.last_used_at !== null;
      });

      good.delete('anns-token-0001');
      const refused = await call('a', {}, { user: 'ann' });
      expect(wrong(refused)).to.deep.equal([422, 'validation_error', '/user']);
      expect(refused.body.error.message).to.include('did not take: it rejected the credential');
      const { body } = await service.api('GET', `/v1/credentials/${credential.id}`);
      expect(body.last_error).to.include('it rejected the credential');
      expect(tokens).to.deep.equal(['anns-token-0001']);
    });

    it('POST call shows the start of a result that is too large to show', async () => {
      const { call } = await withTool(() => ({
        content: [
          { type: 'text', text: 'x'.repeat(1024 * 1024 - 10) },
          { type: 'text', text: 'y'.repeat(30) },
          { type: 'text', text: 'z' },
        ],
      }));
      const { body } = await call('a');
      const [first, ...others] = body.content as { text: string }[];
      expect(first!.text).to.have.length(1024 * 1024 - 10);
      expect(others.map(({ text }) => text)).to.deep.equal([
        `${'y'.repeat(10)}\n[20 more characters left out: the result is too large to show]`,
        '[1 more characters left out: the result is too large to show]',
      ]);
    });

    it('POST call runs four calls of a project at a time, and cancels those whose clients leave', async () => {
      const { server, path } = await withTool(() => new Promise<never>(() => undefined));
      const leave = new AbortController();
      const send = (key = service.key, signal?: AbortSignal): Promise<Response> =>
        fetch(`${service.url}${path}/tools/a/call`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
          body: '{"input":{}}',
          ...(signal && { signal }),
        });
      const waiting = [1, 2, 3, 4].map(() => send(service.key, leave.signal).catch(() => 'left'));
      await eventually('four calls are under way', () => server.calls.length === 4);
      const fifth = await send();
      expect([fifth.status, fifth.headers.get('retry-after')]).to.deep.equal([429, '1']);
      expect(((await fifth.json()) as { error: { type: string } }).error.type).to.equal('too_many_requests');
      reachedLimit('tried tools of a project at once: 4');
      leave.abort();
      expect(await Promise.all(waiting)).to.deep.equal(['left', 'left', 'left', 'left']);
      await eventually('the server knows that they are cancelled', () => server.cancelled.length === 4);
      server.options.tools = [{ name: 'a' }];
      await eventually('there is room again', async () => (await send()).status === 200);
    });
  });
});
