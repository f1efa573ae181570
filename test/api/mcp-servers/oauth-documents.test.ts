import { expect } from 'chai';
import { REQUIRED, reasonOf } from '../../support/oauth-calls.js';
import type { OauthPair } from '../../support/oauth-server.js';
import { useOauthCalls } from '../../support/use.js';

describe('MCP servers with OAuth documents', () => {
  const calls = useOauthCalls();

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
        const pair = await calls.start();
        break_(pair);
        expect(reasonOf(await calls.register(pair))).to.match(reason);
        const rows = await calls.service.db.query('SELECT FROM mcp_servers WHERE url = $1', [pair.mcp.url]);
        expect(rows).to.deep.equal([]);
      });
    }
  });

  it('MCP servers with OAuth documents are found behind a server whose pages of missing paths are large', async () => {
    const pair = await calls.start();
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
    expect((await calls.register(pair, { client_id: 'known' })).status).to.equal(201);
  });

  it('MCP servers with OAuth documents refuse tokens of more than 8 KiB', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    for (const field of ['refresh_token', 'access_token']) {
      const restarted = await calls.service.api('POST', `/v1/mcp-servers/${body.id}/authorize`);
      const callback = await pair.consent(restarted.body.auth.authorization_url);
      pair.gateway = (req, res) => {
        if (req.url !== '/token') return false;
        const tokens = { access_token: 'a', token_type: 'Bearer', [field]: 'x'.repeat(8193) };
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens));
        return true;
      };
      const { status: shown, page } = await calls.callBack(callback);
      pair.gateway = undefined;
      expect([shown, page.includes(`8192 bytes (${field})`)]).to.deep.equal([422, true]);
    }
    expect(await calls.authOf(`/v1/mcp-servers/${body.id}`)).to.deep.equal(REQUIRED);
  });
});
