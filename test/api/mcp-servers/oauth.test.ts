import { expect } from 'chai';
import { OauthAccess } from '../../../src/mcp/oauth/tokens.js';
import { createMcpNetwork, type McpNetwork } from '../../../src/network/network.js';
import { startOauthPair, type OauthPair } from '../../support/oauth-server.js';
import { reachedBy } from '../../support/rows.js';
import { startService, type TestService } from '../../support/service.js';

describe('MCP servers with OAuth', () => {
  let service: TestService;
  const allowed: string[] = [];
  const pairs: OauthPair[] = [];
  let network: McpNetwork;
  let count = 0;
  before(async () => {
    service = await startService({ config: { mcpAllowedHosts: allowed } });
    network = createMcpNetwork(allowed);
  });
  after(async () => {
    await network.close();
    await service.close();
    for (const pair of pairs) await pair.close();
  });

  const start = async (): Promise<OauthPair> => {
    const pair = await startOauthPair();
    pairs.push(pair);
    allowed.push(...pair.hosts);
    return pair;
  };
  const register = (pair: OauthPair, auth: Record<string, unknown> = {}): ReturnType<TestService['api']> => {
    count += 1;
    const body = { name: `oauth-${count}`, url: pair.mcp.url, auth: { type: 'OAUTH', ...auth } };
    return service.api('POST', '/v1/mcp-servers', body);
  };
  /** What the authorization server's redirect makes the browser do. */
  const callBack = async (url: URL): Promise<{ status: number; page: string; headers: Headers }> => {
    const response = await fetch(`${service.url}${url.pathname}${url.search}`);
    // A refusal is a page too: it has no error body to note.
    if (response.status === 200) reachedBy('GET', url.pathname, response.status, null);
    return { status: response.status, page: await response.text(), headers: response.headers };
  };
  const authorized = async (pair: OauthPair): Promise<{ id: string; path: string }> => {
    const { body } = await register(pair);
    expect((await callBack(await pair.consent(body.auth.authorization_url))).status).to.equal(200);
    return { id: body.id, path: `/v1/mcp-servers/${body.id}` };
  };
  const authOf = async (path: string): Promise<Record<string, unknown>> => (await service.api('GET', path)).body.auth;
  const REQUIRED = {
    type: 'OAUTH',
    name: null,
    status: 'authorization_required',
    authorization_url: null,
    expires_at: null,
  };
  const AUTHORIZED = { ...REQUIRED, status: 'authorized' };
  const reasonOf = ({ status, body }: Awaited<ReturnType<TestService['api']>>): string => {
    expect([status, body.error?.type]).to.deep.equal([422, 'mcp_oauth_failed']);
    return body.error.message;
  };
  /** The tokens as another process, such as a worker, uses them. */
  const accessOf = (): OauthAccess => new OauthAccess({ db: service.db, mcpNetwork: network, config: service.config });

  it('authorize, probe and show no token', async () => {
    const pair = await start();
    const { status, body } = await register(pair);
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
      redirect_uri: `${service.url}/v1/mcp-servers/oauth/callback`,
    });
    const path = `/v1/mcp-servers/${body.id}`;
    expect(await authOf(path)).to.deep.equal(REQUIRED);

    const { status: shown, page, headers } = await callBack(await pair.consent(url.href));
    expect(shown).to.equal(200);
    expect(page).to.include(body.name).and.to.include('is authorized');
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).to.include("default-src 'none'");
    const server = (await service.api('GET', path)).body;
    expect(server.auth).to.deep.equal(AUTHORIZED);
    expect(server.tools).to.deep.equal([{ name: 'a', description: '' }]);
    expect((await service.api('POST', `${path}/probe`)).status).to.equal(200);
    const page1 = await service.api('GET', '/v1/mcp-servers');
    expect(page1.body.items[0].auth).to.deep.equal(AUTHORIZED);
    for (const token of pair.shown) expect(JSON.stringify([server, page1.body])).not.to.include(token);
  });

  it('accept each issued state once', async () => {
    const pair = await start();
    const { body } = await register(pair);
    const callback = await pair.consent(body.auth.authorization_url);
    const wrong = new URL(callback);
    wrong.searchParams.set('state', 'wrong');
    expect((await callBack(wrong)).status).to.equal(422);
    expect((await callBack(callback)).status).to.equal(200);
    const again = await callBack(callback);
    expect(again.status).to.equal(422);
    expect(again.page).to.include('mcp_oauth_failed').and.to.include('was used already');
    expect(await authOf(`/v1/mcp-servers/${body.id}`)).to.deep.equal(AUTHORIZED);
  });

  it('refuse a state that has expired or was replaced', async () => {
    const pair = await start();
    const { body } = await register(pair);
    const callback = await pair.consent(body.auth.authorization_url);
    const path = `/v1/mcp-servers/${body.id}`;
    const restarted = await service.api('POST', `${path}/authorize`);
    expect(restarted.status).to.equal(200);
    expect((await callBack(callback)).status).to.equal(422);
    await service.db.query(`UPDATE mcp_oauth SET state_expires_at = now() WHERE id = $1`, [body.id]);
    expect((await callBack(await pair.consent(restarted.body.auth.authorization_url))).status).to.equal(422);
    expect(await authOf(path)).to.deep.equal(REQUIRED);
  });

  it('use the state up when access is denied', async () => {
    const pair = await start();
    const { body } = await register(pair);
    const { searchParams } = new URL(body.auth.authorization_url);
    const callback = new URL(searchParams.get('redirect_uri')!);
    callback.searchParams.set('state', searchParams.get('state')!);
    callback.searchParams.set('iss', pair.issuer);
    callback.searchParams.set('error', 'access_denied');
    expect((await callBack(callback)).page).to.include('access was denied');
    expect((await callBack(callback)).page).to.include('was used already');
    expect(await authOf(`/v1/mcp-servers/${body.id}`)).to.deep.equal(REQUIRED);
  });

  for (const [what, iss] of [
    ['another', 'https://evil.example'],
    ['no', null],
  ] as const) {
    it(`refuse a callback with ${what} issuer, and show it no code`, async () => {
      const pair = await start();
      const { body } = await register(pair);
      const callback = await pair.consent(body.auth.authorization_url);
      if (iss === null) callback.searchParams.delete('iss');
      else callback.searchParams.set('iss', iss);
      const { status, page } = await callBack(callback);
      expect([status, page.includes('(iss)')]).to.deep.equal([422, true]);
      expect(pair.grants('authorization_code')).to.equal(0);
    });
  }

  it('refresh a token before it expires, once for 50 parallel calls of two processes', async () => {
    const pair = await start();
    pair.lifetime = 1;
    const { id } = await authorized(pair);
    pair.lifetime = 3600;
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const [one, two] = [accessOf(), accessOf()];
    const server = { id, credential_version: 1 };
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? one : two).token(server)));
    expect(new Set(tokens.map(({ token }) => token)).size).to.equal(1);
    expect(pair.grants('refresh_token')).to.equal(1);
  });

  it('refresh a token that the server rejects, once, and call again', async () => {
    const pair = await start();
    const { path } = await authorized(pair);
    for (const token of pair.shown) pair.rejected.add(token);
    expect((await service.api('POST', `${path}/probe`)).status).to.equal(200);
    expect(pair.grants('refresh_token')).to.equal(1);
    expect(await authOf(path)).to.deep.equal(AUTHORIZED);
  });

  it('need a person again when the refresh is refused', async () => {
    const pair = await start();
    const { path } = await authorized(pair);
    for (const token of pair.shown) pair.rejected.add(token);
    pair.gateway = (_, res, body) => {
      if (!body.includes('refresh_token')) return false;
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    const failed = await service.api('POST', `${path}/probe`);
    expect([failed.status, failed.body.error.type]).to.deep.equal([422, 'mcp_probe_failed']);
    expect(failed.body.error.message).to.include('needs to be authorized by a person');
    expect(await authOf(path)).to.deep.equal(REQUIRED);

    const restarted = await service.api('POST', `${path}/authorize`);
    pair.gateway = undefined;
    expect((await callBack(await pair.consent(restarted.body.auth.authorization_url))).status).to.equal(200);
    expect(await authOf(path)).to.deep.equal(AUTHORIZED);
  });

  it('try a refresh again that failed with 503', async () => {
    const pair = await start();
    const { path } = await authorized(pair);
    for (const token of pair.shown) pair.rejected.add(token);
    pair.gateway = (_, res, body) => {
      if (!body.includes('refresh_token')) return false;
      res.writeHead(503).end('{"error":"invalid_grant"}');
      return true;
    };
    expect((await service.api('POST', `${path}/probe`)).body.error.message).to.include('HTTP 503');
    expect(await authOf(path)).to.deep.equal(AUTHORIZED);
    pair.gateway = undefined;
    expect((await service.api('POST', `${path}/probe`)).status).to.equal(200);
  });

  it('revoke the tokens of a server that is deleted', async () => {
    const pair = await start();
    const { id, path } = await authorized(pair);
    expect((await service.api('DELETE', path)).status).to.equal(204);
    expect(pair.requests.filter(({ path: requested }) => requested === '/token/revocation')).to.have.length(2);
    expect(await service.db.query('SELECT FROM mcp_oauth WHERE id = $1', [id])).to.deep.equal([]);
  });

  it('start no authorization when the address no longer passes', async () => {
    const pair = await start();
    const { path } = await authorized(pair);
    const before = allowed.splice(0);
    const { status, body } = await service.api('POST', `${path}/authorize`);
    allowed.push(...before);
    expect([status, body.error.type]).to.deep.equal([422, 'invalid_mcp_server_url']);
  });

  it('change to another type of auth and back', async () => {
    const pair = await start();
    const { path } = await authorized(pair);
    pair.mcp.options.gateway = undefined;
    const none = await service.api('PATCH', path, { auth: { type: 'NONE' } });
    expect(none.body.auth).to.deep.equal({ type: 'NONE', name: null });
    expect(reasonOf(await service.api('POST', `${path}/authorize`))).to.include('not OAUTH');
  });

  it('show a client of its own to its own authorization server only', async () => {
    const pair = await start();
    const other = await start();
    const { body } = await register(pair, { client_id: 'known', client_secret: 's'.repeat(8192), scopes: ['x'] });
    expect(new URL(body.auth.authorization_url).searchParams.get('client_id')).to.equal('known');
    expect(new URL(body.auth.authorization_url).searchParams.get('scope')).to.equal('x');
    pair.resource.authorization_servers = [other.issuer];
    const path = `/v1/mcp-servers/${body.id}`;
    expect(reasonOf(await service.api('POST', `${path}/authorize`))).to.include('another authorization server');
  });

  it('say which field of auth is wrong', async () => {
    const pair = await start();
    for (const [auth, path] of [
      [{ client_secret: 'x' }, '/auth/client_secret'],
      [{ token: 'x' }, '/auth/token'],
      [{ scopes: 'x' }, '/auth/scopes'],
      [{ scopes: ['a b'] }, '/auth/scopes/0'],
      [{ client_id: 'x', client_secret: 'x'.repeat(8193) }, '/auth/client_secret'],
    ] as const) {
      const { status, body } = await register(pair, auth);
      expect([status, body.error.details.errors[0].path]).to.deep.equal([422, path]);
    }
  });

  describe('are refused, and no server is saved,', () => {
    const metadata = (pair: OauthPair, change: (document: Record<string, unknown>) => void): void => {
      pair.gateway = (req, res) => {
        if (req.url !== '/.well-known/oauth-authorization-server') return false;
        const document = {
          issuer: pair.issuer,
          authorization_endpoint: `${pair.issuer}/auth`,
          token_endpoint: `${pair.issuer}/token`,
          registration_endpoint: `${pair.issuer}/reg`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        };
        change(document);
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
        return true;
      };
    };
    const cases: [what: string, break_: (pair: OauthPair) => void, reason: RegExp][] = [
      ['without S256', (pair) => metadata(pair, (it) => delete it.code_challenge_methods_supported), /S256/],
      ['with another issuer', (pair) => metadata(pair, (it) => (it.issuer = 'https://evil.example')), /another issuer/],
      [
        'with a token endpoint on a private address',
        (pair) => metadata(pair, (it) => (it.token_endpoint = 'https://169.254.169.254/token')),
        /not https at a public address/,
      ],
      [
        'with metadata on a private address',
        (pair) => (pair.resource.authorization_servers = ['https://127.0.0.2/']),
        /private or local address/,
      ],
      ['as another resource', (pair) => (pair.resource.resource = 'https://other.example/mcp'), /another resource/],
      [
        'when the metadata redirects',
        (pair) => {
          pair.gateway = (_, res) => {
            res.writeHead(307, { location: 'https://example.com/' }).end();
            return true;
          };
        },
        /redirects/,
      ],
      [
        'with metadata of more than 64 KiB',
        (pair) => metadata(pair, (it) => (it.service_documentation = 'x'.repeat(64 * 1024))),
        /more than 64 KiB/,
      ],
      [
        'with lists of wrong items',
        (pair) => metadata(pair, (it) => (it.scopes_supported = Array(1000).fill({}))),
        /something else than texts \(scopes_supported\)/,
      ],
      [
        'with more than 1,000 scopes',
        (pair) => (pair.resource.scopes_supported = Array.from({ length: 1001 }, (_, n) => `scope-${n}`)),
        /more than 1000 items \(scopes_supported\)/,
      ],
      [
        'with text that cannot be stored in the metadata of the resource',
        (pair) => (pair.resource.scopes_supported = ['tools', 'a\0b']),
        /NUL/,
      ],
      [
        'with text that cannot be stored in the metadata of the authorization server',
        (pair) => metadata(pair, (it) => (it.token_endpoint = `${pair.issuer}/token#\ud800`)),
        /lone surrogates/,
      ],
      [
        'with a client secret of more than 8 KiB',
        (pair) => {
          pair.gateway = (req, res) => {
            if (req.url !== '/reg') return false;
            const client = { client_id: 'c', client_secret: 'x'.repeat(8193), redirect_uris: [] };
            res.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(client));
            return true;
          };
        },
        /more than 8192 bytes \(client_secret\)/,
      ],
      [
        'when no client can be registered',
        (pair) => metadata(pair, (it) => delete it.registration_endpoint),
        /send client_id/,
      ],
    ];
    for (const [what, break_, reason] of cases) {
      it(what, async () => {
        const pair = await start();
        break_(pair);
        expect(reasonOf(await register(pair))).to.match(reason);
        const rows = await service.db.query('SELECT FROM mcp_servers WHERE url = $1', [pair.mcp.url]);
        expect(rows).to.deep.equal([]);
      });
    }
  });

  it('are found behind a server whose pages of missing paths are large', async () => {
    const pair = await start();
    pair.resource.authorization_servers = [`${pair.issuer}/tenant`];
    pair.gateway = (req, res) => {
      if (!req.url!.startsWith('/.well-known/') && !req.url!.startsWith('/tenant')) return false;
      if (req.url !== '/tenant/.well-known/openid-configuration') {
        res.writeHead(404, { 'content-type': 'text/html' }).end('x'.repeat(200_000));
        return true;
      }
      const document = {
        issuer: `${pair.issuer}/tenant`,
        authorization_endpoint: `${pair.issuer}/auth`,
        token_endpoint: `${pair.issuer}/token`,
        jwks_uri: `${pair.issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        code_challenge_methods_supported: ['S256'],
        padding: 'x'.repeat(60 * 1024),
      };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      return true;
    };
    expect((await register(pair, { client_id: 'known' })).status).to.equal(201);
  });

  it('refuse tokens of more than 8 KiB', async () => {
    const pair = await start();
    const { body } = await register(pair);
    for (const field of ['refresh_token', 'access_token']) {
      const restarted = await service.api('POST', `/v1/mcp-servers/${body.id}/authorize`);
      const callback = await pair.consent(restarted.body.auth.authorization_url);
      pair.gateway = (req, res) => {
        if (req.url !== '/token') return false;
        const tokens = { access_token: 'a', token_type: 'Bearer', [field]: 'x'.repeat(8193) };
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens));
        return true;
      };
      const { status: shown, page } = await callBack(callback);
      pair.gateway = undefined;
      expect([shown, page.includes(`8192 bytes (${field})`)]).to.deep.equal([422, true]);
    }
    expect(await authOf(`/v1/mcp-servers/${body.id}`)).to.deep.equal(REQUIRED);
  });

  it('keep every token sealed in the database', async () => {
    const pair = await start();
    const { id } = await authorized(pair);
    const access = await accessOf().token({ id, credential_version: 1 });
    const rows = await service.db.query('SELECT o::text AS row FROM mcp_oauth o');
    const text = JSON.stringify(rows);
    expect(text).to.include(id).and.not.to.include(access.token);
    for (const { form } of pair.requests) {
      for (const secret of ['code', 'code_verifier', 'refresh_token', 'client_secret']) {
        const value = form.get(secret);
        if (value !== null) expect(text).not.to.include(value);
      }
    }
  });
});
