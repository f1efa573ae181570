import { expect } from 'chai';
import type { QueryRunner } from '../../../src/db/db.js';
import type { OwnRunner } from '../../../src/db/transaction.js';
import { completeAuthorization, takeAuthorization } from '../../../src/mcp/oauth/complete.js';
import { createMcpNetwork } from '../../../src/network/network.js';
import { createLogger } from '../../../src/platform/logger.js';
import { eventually } from '../../support/eventually.js';
import { AUTHORIZED, REQUIRED } from '../../support/oauth-calls.js';
import type { OauthPair } from '../../support/oauth-server.js';
import { useOauthCalls } from '../../support/use.js';

describe('Authorization servers of MCP servers', () => {
  const calls = useOauthCalls();

  const revocations = ({ requests }: OauthPair): (string | null)[] =>
    requests.filter(({ path }) => path === '/token/revocation').map(({ form }) => form.get('token'));
  const tokensSentTo = ({ requests }: OauthPair): string[] =>
    requests.flatMap(({ form }) => [...form].filter(([name]) => /token$/.test(name)).map(([, value]) => value));

  it('Authorization servers of MCP servers get no tokens of another one while an authorization is under way', async () => {
    const [pair, other] = [await calls.start(), await calls.start()];
    const server = await calls.authorized(pair);
    pair.resource.authorization_servers = [other.issuer];
    const restarted = await calls.service.api('POST', `${server.path}/authorize`);
    expect(restarted.body.auth.status).to.equal('authorized');
    expect(restarted.body.auth.authorization_url).to.match(new RegExp(`^${other.issuer}`));

    for (const token of pair.shown) pair.rejected.add(token);
    expect((await calls.service.api('POST', `${server.path}/probe`)).status).to.equal(200);
    expect(pair.grants('refresh_token')).to.equal(1);
    expect(tokensSentTo(other)).to.deep.equal([]);
    expect(await calls.authOf(server.path)).to.deep.equal(AUTHORIZED);

    const replaced = await calls.accessOf().token(server);
    const { status, page } = await calls.callBack(await other.consent(restarted.body.auth.authorization_url));
    expect(status).to.equal(200);
    expect(page).to.include(other.issuer);
    expect(revocations(pair)).to.have.length(2).and.to.include(replaced.token);
    for (const token of revocations(pair)) expect(tokensSentTo(other)).not.to.include(token);

    const current = await calls.accessOf().token(server);
    expect((await calls.service.api('DELETE', server.path)).status).to.equal(204);
    expect(revocations(other)).to.have.length(2).and.to.include(current.token);
    expect(revocations(pair)).to.have.length(2);
  });

  it('Authorization servers of MCP servers keep the tokens of the same client when it is authorized again', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    const restarted = await calls.service.api('POST', `${path}/authorize`);
    expect((await calls.callBack(await pair.consent(restarted.body.auth.authorization_url))).status).to.equal(200);
    expect(revocations(pair)).to.deep.equal([]);
    expect((await calls.service.api('POST', `${path}/probe`)).status).to.equal(200);
  });

  it('Authorization servers of MCP servers have their tokens revoked when auth is changed', async () => {
    const pair = await calls.start();
    const { path } = await calls.authorized(pair);
    const again = await calls.service.api('PATCH', path, { auth: { type: 'OAUTH' } });
    expect([again.status, again.body.auth.status]).to.deep.equal([200, 'authorization_required']);
    expect(revocations(pair)).to.have.length(2);
  });

  it('Authorization servers of MCP servers have tokens revoked that come for an auth which was changed meanwhile', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    const path = `/v1/mcp-servers/${body.id}`;
    const callback = await pair.consent(body.auth.authorization_url);
    let answer: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    pair.hold = (requested) => (requested === '/token' ? held : undefined);
    const shown = calls.callBack(callback);
    await eventually('the code is exchanged', () => pair.grants('authorization_code') === 1);
    expect((await calls.service.api('PATCH', path, { auth: { type: 'OAUTH' } })).status).to.equal(200);
    answer!();
    const { status, page } = await shown;
    expect([status, page.includes('was changed meanwhile')]).to.deep.equal([422, true]);
    expect(await calls.authOf(path)).to.deep.equal(REQUIRED);
    expect(revocations(pair)).to.have.length(2);
  });

  it('Authorization servers of MCP servers give tokens to the auth whose state was taken, even when it is changed in the same moment', async () => {
    const pair = await calls.start();
    const { body } = await calls.register(pair);
    const callback = await pair.consent(body.auth.authorization_url);
    const parameters = Object.fromEntries(callback.searchParams);
    const patchAfterTransaction = (): QueryRunner => {
      const runner = calls.service.db.createQueryRunner() as OwnRunner;
      const release = runner.releasePostgresConnection.bind(runner);
      runner.releasePostgresConnection = async (error) => {
        await release(error);
        await calls.service.api('PATCH', `/v1/mcp-servers/${body.id}`, { auth: { type: 'OAUTH' } });
      };
      return runner;
    };
    const db = new Proxy(calls.service.db, {
      get: (target, name) =>
        (name === 'createQueryRunner' ? patchAfterTransaction : Reflect.get(target, name)) as unknown,
    });
    const mcpNetwork = createMcpNetwork(calls.allowed);
    const log = createLogger('silent', 'test');
    try {
      const taken = await takeAuthorization(db, parameters);
      const deps = { db: calls.service.db, config: calls.service.config, mcpNetwork, log };
      const reason = await completeAuthorization(deps, taken, parameters, () => undefined).then(
        () => 'stored',
        (error: Error) => error.message,
      );
      expect(reason).to.include('was changed meanwhile');
    } finally {
      await mcpNetwork.close();
    }
  });
});
