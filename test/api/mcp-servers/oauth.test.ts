import { expect } from 'chai';
import { AUTHORIZED, REQUIRED, reasonOf } from '../../support/oauth-calls.js';
import { useOauthCalls } from '../../support/use.js';

describe('MCP servers with OAuth', () => {
  const calls = useOauthCalls();

  it('MCP servers with OAuth are authorized and probed, and show no token', async () => {
    const pair = await calls.start();
    const { status, body } = await calls.register(pair);
    expect(status).to.equal(201);
    expect(body.auth).to.include({ type: 'OAUTH', status: 'authorization_required' });
    expect(body.tools).to.deep.equal([]);
    const inTenMinutes = Date.parse(body.auth.expires_at) - Date.now();
    expect(inTenMinutes).to.be.within(590_000, 601_000);
    const url = new URL(body.auth.authorization_url);
    expect(Object.fromEntries(url.searchParams)).to.include({
      code_challenge_method: 'S256',
      resource: pair.mcp.url,
      scope: 'tools',
      redirect_uri: `${calls.service.url}/v1/mcp-servers/oauth/callback`,
    });
    const path = `/v1/mcp-servers/${body.id}`;
    expect(await calls.authOf(path)).to.deep.equal(REQUIRED);

    const { status: shown, page, headers } = await calls.callBack(await pair.consent(url.href));
    expect(shown).to.equal(200);
    expect(page).to.include(body.name).and.to.include('is authorized');
    for (const party of ['<dd>demo</dd>', `(${pair.mcp.host})`, `<dd>${pair.issuer}</dd>`, 'Did somebody else send']) {
      expect(page).to.include(party);
    }
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).to.include("default-src 'none'");
    const server = (await calls.service.api('GET', path)).body;
    expect(server.auth).to.deep.equal(AUTHORIZED);
    expect(server.tools).to.deep.equal([{ name: 'a', description: '' }]);
    expect((await calls.service.api('POST', `${path}/probe`)).status).to.equal(200);
    const page1 = await calls.service.api('GET', '/v1/mcp-servers');
    expect(page1.body.items[0].auth).to.deep.equal(AUTHORIZED);
    for (const token of pair.shown) expect(JSON.stringify([server, page1.body])).not.to.include(token);
  });

  it('MCP servers with OAuth show pages, in the OpenAPI document too', async () => {
    const document = (await calls.service.api('GET', '/openapi.json')).body;
    const { responses } = document.paths['/v1/mcp-servers/oauth/callback'].get;
    for (const status of ['200', '422']) expect(Object.keys(responses[status].content)).to.deep.equal(['text/html']);
    const { status, headers } = await calls.callBack(
      new URL(`${calls.service.url}/v1/mcp-servers/oauth/callback?state=x`),
    );
    expect([status, headers.get('content-type')]).to.deep.equal([422, 'text/html; charset=utf-8']);
  });

  it('MCP servers with OAuth accept each issued state once', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    const callback = await pair.consent(body.auth.authorization_url);
    const wrong = new URL(callback);
    wrong.searchParams.set('state', 'wrong');
    expect((await calls.callBack(wrong)).status).to.equal(422);
    expect((await calls.callBack(callback)).status).to.equal(200);
    const again = await calls.callBack(callback);
    expect(again.status).to.equal(422);
    expect(again.page).to.include('mcp_oauth_failed').and.to.include('was used already');
    expect(await calls.authOf(`/v1/mcp-servers/${body.id}`)).to.deep.equal(AUTHORIZED);
  });

  it('MCP servers with OAuth refuse a state that has expired or was replaced', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    const callback = await pair.consent(body.auth.authorization_url);
    const path = `/v1/mcp-servers/${body.id}`;
    const restarted = await calls.service.api('POST', `${path}/authorize`);
    expect(restarted.status).to.equal(200);
    expect((await calls.callBack(callback)).status).to.equal(422);
    await calls.service.db.query(`UPDATE mcp_oauth SET state_expires_at = now() WHERE id = $1`, [body.id]);
    expect((await calls.callBack(await pair.consent(restarted.body.auth.authorization_url))).status).to.equal(422);
    expect(await calls.authOf(path)).to.deep.equal(REQUIRED);
  });

  it('a state of OAuth is used up when access is denied', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    const { searchParams } = new URL(body.auth.authorization_url);
    const callback = new URL(searchParams.get('redirect_uri')!);
    callback.searchParams.set('state', searchParams.get('state')!);
    callback.searchParams.set('iss', pair.issuer);
    callback.searchParams.set('error', 'access_denied');
    expect((await calls.callBack(callback)).page).to.include('access was denied');
    expect((await calls.callBack(callback)).page).to.include('was used already');
    expect(await calls.authOf(`/v1/mcp-servers/${body.id}`)).to.deep.equal(REQUIRED);
  });

  for (const [what, iss] of [
    ['another', 'https://evil.example'],
    ['no', null],
  ] as const) {
    it(`MCP servers with OAuth refuse a callback with ${what} issuer, and show it no code`, async () => {
      const pair = await calls.start();
      const { body } = await calls.register(pair);
      const callback = await pair.consent(body.auth.authorization_url);
      if (iss === null) callback.searchParams.delete('iss');
      else callback.searchParams.set('iss', iss);
      const { status, page } = await calls.callBack(callback);
      expect([status, page.includes('(iss)')]).to.deep.equal([422, true]);
      expect(page).to.include(`<dd>${pair.issuer}</dd>`).and.to.include(pair.mcp.host).and.not.to.include('evil');
      expect(pair.grants('authorization_code')).to.equal(0);
    });
  }

  it('MCP servers with OAuth start no authorization when the address no longer passes', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    const before = calls.allowed.splice(0);
    const { status, body } = await calls.service.api('POST', `${path}/authorize`);
    calls.allowed.push(...before);
    expect([status, body.error.type]).to.deep.equal([422, 'invalid_mcp_server_url']);
  });

  it('MCP servers with OAuth change to another type of auth and back', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    pair.mcp.options.gateway = undefined;
    const none = await calls.service.api('PATCH', path, { auth: { type: 'NONE' } });
    expect(none.body.auth).to.deep.equal({ type: 'NONE', name: null });
    expect(reasonOf(await calls.service.api('POST', `${path}/authorize`))).to.include('not OAUTH');
  });

  it('MCP servers with OAuth show a client of its own to its own authorization server only', async () => {
    const pair = await calls.start();
    const other = await calls.start();
    const { body } = await calls.register(pair, { client_id: 'known', client_secret: 's'.repeat(8192), scopes: ['x'] });
    expect(new URL(body.auth.authorization_url).searchParams.get('client_id')).to.equal('known');
    expect(new URL(body.auth.authorization_url).searchParams.get('scope')).to.equal('x');
    pair.resource.authorization_servers = [other.issuer];
    const path = `/v1/mcp-servers/${body.id}`;
    expect(reasonOf(await calls.service.api('POST', `${path}/authorize`))).to.include('another authorization server');
  });

  it('MCP servers with OAuth name the invalid field of auth', async () => {
    const pair = await calls.start();
    for (const [auth, path] of [
      [{ client_secret: 'x' }, '/auth/client_secret'],
      [{ token: 'x' }, '/auth/token'],
      [{ scopes: 'x' }, '/auth/scopes'],
      [{ scopes: ['a b'] }, '/auth/scopes/0'],
      [{ client_id: 'x', client_secret: 'x'.repeat(8193) }, '/auth/client_secret'],
    ] as const) {
      const { status, body } = await calls.register(pair, auth);
      expect([status, body.error.details.errors[0].path]).to.deep.equal([422, path]);
    }
  });
});
