import { expect } from 'chai';
import { AUTHORIZED, REQUIRED } from '../../support/oauth-calls.js';
import type { OauthPair } from '../../support/oauth-server.js';
import { useOauthCalls } from '../../support/use.js';

/** Authorization servers of MCP servers, as they are in the world. What they answer to token requests: test/src/mcp/oauth-requests. */
describe('Authorization servers in the world', () => {
  const calls = useOauthCalls();

  /** Answers requests to the token endpoint that have `text` in their form. */
  const onToken = (pair: OauthPair, text: string, status: number, body: string, type = 'application/json'): void => {
    pair.gateway = (req, res, form) => {
      if (!req.url!.startsWith('/token') || !form.includes(text)) return false;
      res.writeHead(status, { 'content-type': type }).end(body);
      return true;
    };
  };

  for (const [what, fields] of [
    [
      'after that of Basic',
      (url: string) => [`Basic realm="intranet", Bearer realm="mcp", resource_metadata="${url}"`],
    ],
    ['in a second field', (url: string) => ['Negotiate', `Bearer resource_metadata="${url}"`]],
    [
      'after an address that leads nowhere',
      (url: string) => [`Bearer resource_metadata="${url}/nowhere", resource_metadata="${url}"`],
    ],
    [
      'with an address relative to the MCP server',
      (url: string) => [`Bearer resource_metadata="${new URL(url).pathname}"`],
    ],
  ] as const) {
    it(`Authorization servers in the world are found by a challenge ${what}`, async () => {
      const pair = await calls.start();
      pair.mcp.options.gateway = (req, res) => {
        if (req.method === 'GET') {
          const isThere = req.url === '/metadata';
          res.writeHead(isThere ? 200 : 404, { 'content-type': 'application/json' });
          res.end(isThere ? JSON.stringify(pair.resource) : '');
        } else res.writeHead(401, { 'www-authenticate': fields(`http://${pair.mcp.host}/metadata`) }).end();
        return true;
      };
      const { status, body } = await calls.register(pair);
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body.auth.authorization_url).to.include(pair.issuer);
    });
  }

  it('Authorization servers in the world are found behind a site that answers every path with its page', async () => {
    const pair = await calls.start();
    pair.gateway = (req, res) => {
      if (!req.url!.startsWith('/.well-known/oauth-authorization-server')) return false;
      res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><div id="app"></div>');
      return true;
    };
    expect((await calls.register(pair)).status).to.equal(201);
  });

  it('Authorization servers in the world are the first of several that has metadata', async () => {
    const pair = await calls.start();
    pair.resource.authorization_servers = [`${pair.issuer}/old`, pair.issuer];
    pair.gateway = (req, res) => {
      if (!req.url!.includes('/old')) return false;
      res.writeHead(404).end();
      return true;
    };
    const { status, body } = await calls.register(pair);
    expect([status, new URL(body.auth?.authorization_url ?? 'x:').pathname]).to.deep.equal([201, '/auth']);
  });

  for (const [what, body, type] of [
    ['JSON', '{"error":"bad_refresh_token","error_description":"It has expired"}', 'application/json'],
    ['a form', 'error=bad_refresh_token&error_description=It+has+expired', 'application/x-www-form-urlencoded'],
  ] as const) {
    it(`Authorization servers in the world refuse a refresh with HTTP 200 and ${what}`, async () => {
      const pair = await calls.start();
      const { path } = await calls.authorized(pair);
      for (const token of pair.shown) pair.rejected.add(token);
      onToken(pair, 'refresh_token', 200, body, type);
      const failed = await calls.service.api('POST', `${path}/probe`);
      expect(failed.body.error.message).to.include(
        'needs to be authorized by a person (POST /v1/mcp-servers/{mcp_server_id}/authorize): the authorization server refused the request (bad_refresh_token: “It has expired”)',
      );
      expect(await calls.authOf(path)).to.deep.equal(REQUIRED);
    });
  }

  it('Authorization servers in the world say on the page why they refuse the code', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    const url = await pair.consent(body.auth.authorization_url);
    const code = url.searchParams.get('code')!;
    onToken(pair, 'authorization_code', 200, `{"error":"invalid_client","error_description":"<b>Missing</b> ${code}"}`);
    const { status, page } = await calls.callBack(url);
    expect(status).to.equal(422);
    expect(page).to.include('(invalid_client: “&lt;b&gt;Missing&lt;/b&gt; [credential]”)');
  });

  it('Authorization servers in the world say on the page why they refuse the person', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    const url = await pair.consent(body.auth.authorization_url);
    url.searchParams.delete('code');
    url.searchParams.set('error', 'invalid_scope');
    url.searchParams.set('error_description', 'Unknown\u0007 scope tools');
    expect((await calls.callBack(url)).page).to.include('(invalid_scope: “Unknown scope tools”)');
  });

  it('Authorization servers in the world get a new client when they have forgotten the old one', async () => {
    const pair = await calls.start();
    const { id, path } = await calls.authorized(pair);
    const old = pair.requests
      .find(({ form }) => form.get('grant_type') === 'authorization_code')!
      .form.get('client_id')!;
    const clientOf = (url: string): string => new URL(url).searchParams.get('client_id')!;
    const again = await calls.service.api('POST', `${path}/authorize`);
    expect(clientOf(again.body.auth.authorization_url), 'a known client is used again').to.equal(old);

    onToken(pair, '', 401, '{"error":"invalid_client","error_description":"client not found"}');
    const { status, body } = await calls.service.api('POST', `${path}/authorize`);
    expect([status, body.id]).to.deep.equal([200, id]);
    expect(clientOf(body.auth.authorization_url)).to.not.equal(old);
    pair.gateway = undefined;
    expect((await calls.callBack(await pair.consent(body.auth.authorization_url))).status).to.equal(200);
    expect(await calls.authOf(path)).to.deep.equal(AUTHORIZED);
  });

  for (const [what, answer] of [
    ['no redirect addresses', { client_id: 'c-1', client_secret: 's', client_secret_expires_at: 0 }],
    ['an empty secret', { client_id: 'c-1', client_secret: '', token_endpoint_auth_method: null }],
  ] as const) {
    it(`Authorization servers in the world register a client with ${what}`, async () => {
      const pair = await calls.start();
      pair.gateway = (req, res) => {
        if (!req.url!.startsWith('/reg')) return false;
        res.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
        return true;
      };
      const { status, body } = await calls.register(pair);
      expect([status, new URL(body.auth?.authorization_url ?? 'x:').searchParams.get('client_id')]).to.deep.equal([
        201,
        'c-1',
      ]);
    });
  }

  it('Authorization servers in the world say why they register no client', async () => {
    const pair = await calls.start();
    pair.gateway = (req, res) => {
      if (!req.url!.startsWith('/reg')) return false;
      const error = { error: 'invalid_redirect_uri', error_description: 'Only https is allowed' };
      res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error));
      return true;
    };
    const { body } = await calls.register(pair);
    expect(body.error.message).to.include('(invalid_redirect_uri: “Only https is allowed”)');
  });
});
