import { expect } from 'chai';
import { AUTHORIZED, REQUIRED } from '../../support/oauth-calls.js';
import { useOauthCalls } from '../../support/use.js';

describe('Tokens of MCP servers with OAuth', () => {
  const calls = useOauthCalls();

  it('an expired token is refreshed once for 50 parallel calls of two processes', async () => {
    const pair = await calls.start();
    const server = await calls.authorized(pair);
    await calls.service.db.query('UPDATE mcp_oauth SET tokens_expire_at = now() WHERE id = $1', [server.id]);
    const [one, two] = [calls.accessOf(), calls.accessOf()];
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? one : two).token(server)));
    expect(new Set(tokens.map(({ token }) => token)).size).to.equal(1);
    expect(pair.grants('refresh_token')).to.equal(1);
  });

  it('a token that the server rejects is refreshed once, and the call sent again', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    for (const token of pair.shown) pair.rejected.add(token);
    expect((await calls.service.api('POST', `${path}/probe`)).status).to.equal(200);
    expect(pair.grants('refresh_token')).to.equal(1);
    expect(await calls.authOf(path)).to.deep.equal(AUTHORIZED);
  });

  it('a token that another process had refreshed and that was withdrawn is refreshed again', async () => {
    const pair = await calls.start();
    const server = await calls.authorized(pair);
    const other = calls.accessOf();
    const first = await other.token(server);
    const second = await other.token(server, first);
    expect(second.isNew).to.equal(true);
    pair.rejected.add(first.token).add(second.token);
    expect((await calls.service.api('POST', `${server.path}/probe`)).status).to.equal(200);
    expect([...pair.shown].slice(-3, -1)).to.deep.equal([first.token, second.token]);
    expect(pair.grants('refresh_token')).to.equal(2);
  });

  it('a server that rejects every token gets one refresh', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    pair.rejected.has = () => true;
    const { body } = await calls.service.api('POST', `${path}/probe`);
    expect(body.error.message).to.include('HTTP 401');
    expect(pair.grants('refresh_token')).to.equal(1);
    expect(await calls.authOf(path)).to.deep.equal(AUTHORIZED);
  });

  it('Tokens of MCP servers with OAuth need a person again when the refresh is refused', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    for (const token of pair.shown) pair.rejected.add(token);
    pair.gateway = (_, res, body) => {
      if (!body.includes('refresh_token')) return false;
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    const failed = await calls.service.api('POST', `${path}/probe`);
    expect([failed.status, failed.body.error.type]).to.deep.equal([422, 'mcp_probe_failed']);
    expect(failed.body.error.message).to.include('needs to be authorized by a person');
    expect(await calls.authOf(path)).to.deep.equal(REQUIRED);

    const restarted = await calls.service.api('POST', `${path}/authorize`);
    pair.gateway = undefined;
    expect((await calls.callBack(await pair.consent(restarted.body.auth.authorization_url))).status).to.equal(200);
    expect(await calls.authOf(path)).to.deep.equal(AUTHORIZED);
  });

  it('a refresh that failed with 503 is tried again', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    for (const token of pair.shown) pair.rejected.add(token);
    pair.gateway = (_, res, body) => {
      if (!body.includes('refresh_token')) return false;
      res.writeHead(503).end('{"error":"invalid_grant"}');
      return true;
    };
    expect((await calls.service.api('POST', `${path}/probe`)).body.error.message).to.include('HTTP 503');
    expect(await calls.authOf(path)).to.deep.equal(AUTHORIZED);
    pair.gateway = undefined;
    expect((await calls.service.api('POST', `${path}/probe`)).status).to.equal(200);
  });

  it('the tokens of a server that is deleted are revoked', async () => {
    const pair = await calls.start();
    const { id, path } = await calls.authorized(pair);
    expect((await calls.service.api('DELETE', path)).status).to.equal(204);
    expect(pair.requests.filter(({ path: requested }) => requested === '/token/revocation')).to.have.length(2);
    expect(await calls.service.db.query('SELECT FROM mcp_oauth WHERE id = $1', [id])).to.deep.equal([]);
  });
});
