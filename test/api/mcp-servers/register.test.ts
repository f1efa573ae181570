import { expect } from 'chai';
import { McpServers, type McpServerOptions, type TestMcpServer } from '../../support/mcp-server.js';
import type { TestService } from '../../support/service.js';
import { useService } from '../../support/use.js';

const SECRET = 'secret-0123456789';

describe('POST /v1/mcp-servers', () => {
  const servers = new McpServers();
  const service = useService(() => ({ config: { mcpAllowedHosts: servers.hosts } }));
  after(() => servers.close());

  const start = (options: McpServerOptions = { tools: [{ name: 'a' }, { name: 'b' }] }): Promise<TestMcpServer> =>
    servers.start(options);
  const register = (body: unknown, headers = {}): ReturnType<TestService['api']> =>
    service.api('POST', '/v1/mcp-servers', body, headers);
  let names = 0;
  const newName = (): string => `server-${(names += 1)}`;

  it('POST /v1/mcp-servers answers with the resource and stores it', async () => {
    const server = await start({ serverName: 'Weather', tools: [{ name: 'now', description: 'The weather now.' }] });
    const { status, body } = await register({ name: 'weather', url: server.url });
    expect(status).to.equal(201);
    expect(Object.keys(body)).to.deep.equal([
      'id',
      'name',
      'url',
      'auth',
      'credentials',
      'allowed_tools',
      'tools',
      'tools_left_out',
      'pin_tools',
      'changed_tools',
      'required_approvals',
      'server_name',
      'last_probed_at',
      'last_connected_at',
      'last_connect_error',
      'created_at',
      'updated_at',
    ]);
    expect(body).to.deep.include({
      name: 'weather',
      url: server.url,
      auth: { type: 'NONE', name: null },
      allowed_tools: null,
      tools: [{ name: 'now', description: 'The weather now.' }],
      pin_tools: false,
      changed_tools: [],
      server_name: 'Weather',
      last_connected_at: null,
      last_connect_error: null,
      updated_at: body.created_at,
      last_probed_at: body.created_at,
    });
    expect(body.id).to.match(/^mcp_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(body.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect((await service.api('GET', `/v1/mcp-servers/${body.id}`)).body).to.deep.equal(body);
  });

  it('POST /v1/mcp-servers keeps the url byte for byte', async () => {
    const server = await start();
    const url = `${server.url.replace('http:', 'HTTP:')}/?a=%7e&b=é#frag`;
    const { status, body } = await register({ name: newName(), url });
    expect(status).to.equal(201);
    expect(body.url).to.equal(url);
  });

  it('POST /v1/mcp-servers sends the credential of each form and never shows it', async () => {
    for (const [auth, shown, sent] of [
      [
        { type: 'BEARER', token: SECRET },
        { type: 'BEARER', name: null },
        { header: 'Authorization', value: `Bearer ${SECRET}` },
      ],
      [
        { type: 'HEADER', name: 'X-Key', value: SECRET },
        { type: 'HEADER', name: 'X-Key' },
        { header: 'X-Key', value: SECRET },
      ],
      [{ type: 'NONE' }, { type: 'NONE', name: null }, undefined],
      [{}, { type: 'NONE', name: null }, undefined],
    ] as const) {
      const server = await start({ tools: [], auth: sent });
      const { status, body } = await register({ name: newName(), url: server.url, auth });
      expect(status).to.equal(201);
      expect(body.auth).to.deep.equal(shown);
      expect(JSON.stringify(body)).not.to.include(SECRET);
    }
  });

  it('POST /v1/mcp-servers names the invalid field of the body', async () => {
    const { url } = await start();
    const good = { name: 'fine', url };
    const cases: [body: unknown, path: string][] = [
      [{ url }, '/name'],
      [{ name: 'fine' }, '/url'],
      [{ ...good, name: null }, '/name'],
      [{ ...good, name: '' }, '/name'],
      [{ ...good, name: 'Upper' }, '/name'],
      [{ ...good, name: 'two--hyphens' }, '/name'],
      [{ ...good, name: 'under_score' }, '/name'],
      [{ ...good, name: '-a' }, '/name'],
      [{ ...good, name: 'a-' }, '/name'],
      [{ ...good, name: 'x'.repeat(65) }, '/name'],
      [{ ...good, url: 7 }, '/url'],
      [{ ...good, url: `https://example.com/${'x'.repeat(2048)}` }, '/url'],
      [{ ...good, auth: null }, '/auth'],
      [{ ...good, auth: { type: 'DIGEST' } }, '/auth/type'],
      [{ ...good, auth: { type: 'BEARER' } }, '/auth/token'],
      [{ ...good, auth: { type: 'BEARER', token: 'a\r\nb' } }, '/auth/token'],
      [{ ...good, auth: { type: 'HEADER', name: 'Host', value: 'x' } }, '/auth/name'],
      [{ ...good, auth: { type: 'NONE', extra: 1 } }, '/auth/extra'],
      [{ ...good, allowed_tools: [] }, '/allowed_tools'],
      [{ ...good, allowed_tools: ['a', 'a'] }, '/allowed_tools'],
      [{ ...good, allowed_tools: [1] }, '/allowed_tools/0'],
      [{ ...good, allowed_tools: Array.from({ length: 2001 }, (_, index) => `t${index}`) }, '/allowed_tools'],
      [{ ...good, tools: [] }, '/tools'],
    ];
    for (const [wrong, path] of cases) {
      const { status, body } = await register(wrong);
      expect([status, body.error.type], JSON.stringify(wrong).slice(0, 80)).to.deep.equal([422, 'validation_error']);
      expect(body.error.details.errors.map((error: { path: string }) => error.path)).to.include(path);
      expect(JSON.stringify(body)).not.to.include(SECRET);
    }
  });

  it('POST /v1/mcp-servers refuses urls by their own type', async () => {
    for (const url of [
      '',
      'nothing',
      'http://example.com/mcp',
      'https://user:x@example.com/',
      'https://127.0.0.1/mcp',
      'https://localhost/',
    ]) {
      const { status, body } = await register({ name: newName(), url });
      expect([status, body.error.type], url).to.deep.equal([422, 'invalid_mcp_server_url']);
    }
  });

  it('POST /v1/mcp-servers says that an operator can allow addresses of one’s own', async () => {
    for (const url of ['http://localhost:18301/mcp', 'https://127.0.0.1/mcp']) {
      const { error } = (await register({ name: newName(), url })).body;
      expect(error.message).to.contain('unless an operator lists its host and port in MCP_ALLOWED_HOSTS');
    }
  });

  it('POST /v1/mcp-servers stores no server when the probe fails', async () => {
    const server = await start({ auth: { header: 'authorization', value: 'other' } });
    const name = newName();
    const auth = { type: 'BEARER', token: SECRET };
    const { status, body } = await register({ name, url: server.url, auth });
    expect([status, body.error.type]).to.deep.equal([422, 'mcp_probe_failed']);
    expect(body.error.message)
      .to.match(/HTTP 401/)
      .and.not.to.include(SECRET);
    server.options.auth = undefined;
    expect((await register({ name, url: server.url })).status).to.equal(201);
  });

  it('POST /v1/mcp-servers lists the allowed tools that the server does not have', async () => {
    const server = await start();
    const name = newName();
    const wrong = await register({ name, url: server.url, allowed_tools: ['a', 'x', 'y'] });
    expect([wrong.status, wrong.body.error.type]).to.deep.equal([422, 'unknown_mcp_tool']);
    expect(wrong.body.error.details).to.deep.equal({ tools: ['x', 'y'] });
    const right = await register({ name, url: server.url, allowed_tools: ['b'] });
    expect(right.body.allowed_tools).to.deep.equal(['b']);
    expect(right.body.tools).to.have.length(2);
  });

  it('POST /v1/mcp-servers checks in the order of the contract', async () => {
    const taken = await start();
    const name = newName();
    await register({ name, url: taken.url });
    const dead = await start();
    await dead.close();
    const typeOf = async (body: unknown): Promise<string> => (await register(body)).body.error.type;
    expect(await typeOf({ name, url: 'http://127.0.0.1:1/', extra: 1 }), 'body').to.equal('validation_error');
    expect(await typeOf({ name, url: 'http://127.0.0.1:1/' }), 'url').to.equal('invalid_mcp_server_url');
    expect(await typeOf({ name, url: taken.url }), 'name').to.equal('mcp_server_name_taken');
    expect(await typeOf({ name, url: dead.url }), 'name before the probe').to.equal('mcp_server_name_taken');
    const before = taken.log.length;
    expect(await typeOf({ name: newName(), url: taken.url, allowed_tools: ['x'] })).to.equal('mcp_server_url_taken');
    expect(taken.log.length, 'no probe').to.equal(before);
    expect(await typeOf({ name: newName(), url: dead.url, allowed_tools: ['x'] })).to.equal('mcp_probe_failed');
  });

  it('POST /v1/mcp-servers lets one of several parallel requests have the name, and one the url', async () => {
    const server = await start();
    const name = newName();
    const byName = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => register({ name, url: `${server.url}?${index}` })),
    );
    expect(byName.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409, 409]);
    const refused = byName.find(({ status }) => status === 409)!;
    expect(refused.body.error.type).to.equal('mcp_server_name_taken');
    expect(refused.headers.get('x-should-retry')).to.equal('false');

    const byUrl = await Promise.all(
      Array.from({ length: 6 }, () => register({ name: newName(), url: `${server.url}?u` })),
    );
    expect(byUrl.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409, 409]);
    expect(byUrl.find(({ status }) => status === 409)!.body.error.type).to.equal('mcp_server_url_taken');
  });

  it('POST /v1/mcp-servers leaves name and url to other projects', async () => {
    const server = await start();
    const name = newName();
    expect((await register({ name, url: server.url })).status).to.equal(201);
    const other = service.as(await service.newKey({ project: 'other' }));
    expect((await other('POST', '/v1/mcp-servers', { name, url: server.url })).status).to.equal(201);
  });

  it('POST /v1/mcp-servers answers a repeated Idempotency-Key without a second probe', async () => {
    const server = await start();
    const body = { name: newName(), url: server.url, auth: { type: 'BEARER', token: SECRET } };
    const first = await register(body, { 'Idempotency-Key': 'register-1' });
    const before = server.log.length;
    const second = await register(body, { 'Idempotency-Key': 'register-1' });
    expect([first.status, second.status]).to.deep.equal([201, 201]);
    expect(second.body).to.deep.equal(first.body);
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect(server.log.length).to.equal(before);
    const other = await register({ ...body, auth: { type: 'NONE' } }, { 'Idempotency-Key': 'register-1' });
    expect(other.body.error.type).to.equal('idempotency_key_reused');
  });
});
