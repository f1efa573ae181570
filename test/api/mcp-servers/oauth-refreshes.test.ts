import { expect } from 'chai';
import { claimRefresh, readGrant } from '../../../src/mcp/oauth/grants.js';
import type { OauthServer } from '../../../src/mcp/oauth/remembered.js';
import { eventually } from '../../support/eventually.js';
import { startTokenEndpoint, type TokenEndpoint } from '../../support/token-endpoint.js';
import { useOauthCalls } from '../../support/use.js';

describe('Refreshes of OAuth tokens', () => {
  const calls = useOauthCalls();
  const endpoints: TokenEndpoint[] = [];
  after(async () => {
    for (const endpoint of endpoints) await endpoint.close();
  });

  const start = async (): Promise<TokenEndpoint> => {
    const endpoint = await startTokenEndpoint();
    endpoints.push(endpoint);
    calls.allowed.push(endpoint.host);
    return endpoint;
  };
  const authorized = (
    endpoint: TokenEndpoint,
    server: { id: string; project?: string; expiresIn: number },
  ): Promise<OauthServer> => endpoint.authorized(calls.service.db, calls.service.config, server);

  it('Refreshes of OAuth tokens run twice at a time for a project, and keep no other project waiting', async () => {
    const [slow, quick] = [await start(), await start()];
    quick.isOpen = true;
    await calls.service.newKey({ project: 'other' });
    const ids = Array.from({ length: 5 }, (_, n) => `mcp_slow-${n}`);
    const servers = await Promise.all(ids.map((id) => authorized(slow, { id, expiresIn: -1 })));
    const expired = await authorized(quick, { id: 'mcp_expired', project: 'other', expiresIn: -1 });
    const valid = await authorized(quick, { id: 'mcp_valid', expiresIn: 3600 });
    const access = calls.accessOf();
    const tokens = servers.map((server) => access.token(server));
    await eventually('two refreshes are under way', () => slow.waiting === 2);

    expect((await access.token(valid)).token).to.equal('old-access-mcp_valid');
    expect((await access.token(expired)).token).to.match(/^access-/);
    const [{ count }] = await calls.service.db.query(
      `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'`,
    );
    expect(count, 'open transactions').to.equal(0);
    slow.isOpen = true;
    slow.release();
    slow.release();
    for (const { token } of await Promise.all(tokens)) expect(token).to.match(/^access-/);
    expect([slow.mostWaiting, slow.forms.length]).to.deep.equal([2, 5]);
  });

  it('Refreshes of OAuth tokens run 16 at a time in a process, with fewer database connections', async () => {
    const slow = await start();
    const servers: OauthServer[] = [];
    for (let project = 0; project < 9; project += 1) {
      await calls.service.newKey({ project: `project-${project}` });
      for (const n of [0, 1]) {
        const id = `mcp_many-${project}-${n}`;
        servers.push(await authorized(slow, { id, project: `project-${project}`, expiresIn: -1 }));
      }
    }
    const access = calls.accessOf();
    const tokens = servers.map((server) => access.token(server));
    await eventually('16 refreshes are under way', () => slow.waiting === 16);
    slow.release();
    await eventually('the next one starts', () => slow.forms.length === 17);
    slow.isOpen = true;
    while (slow.waiting > 0) slow.release();
    expect(new Set((await Promise.all(tokens)).map(({ token }) => token)).size).to.equal(18);
    expect(slow.mostWaiting).to.equal(16);
  });

  it('Refreshes of OAuth tokens leave a token in use that is still valid', async () => {
    const slow = await start();
    const server = await authorized(slow, { id: 'mcp_margin', expiresIn: 30 });
    const access = calls.accessOf();
    for (let call = 0; call < 3; call += 1) {
      expect((await access.token(server)).token).to.equal('old-access-mcp_margin');
    }
    await eventually('it is refreshed meanwhile', () => slow.waiting === 1);
    slow.release();
    await eventually('the new one is used', async () => (await access.token(server)).token.startsWith('access-'));
    expect(slow.forms).to.have.length(1);
  });

  it('Refreshes of OAuth tokens wait for the process that has the claim, and use its tokens', async () => {
    const slow = await start();
    const server = await authorized(slow, { id: 'mcp_claimed', expiresIn: -1 });
    const [one, two] = [calls.accessOf(), calls.accessOf()];
    const first = one.token(server);
    await eventually('it is refreshed', () => slow.waiting === 1);
    const second = two.token(server);
    const third = calls.accessOf().token(server);
    slow.release();
    const tokens = await Promise.all([first, second, third]);
    expect(new Set(tokens.map(({ token }) => token)).size).to.equal(1);
    expect(slow.forms).to.have.length(1);
  });

  it('Refreshes of OAuth tokens are taken over from a process that died', async () => {
    const slow = await start();
    slow.isOpen = true;
    const server = await authorized(slow, { id: 'mcp_died', expiresIn: -1 });
    expect(await claimRefresh(calls.service.db, (await readGrant(calls.service.db, server.id))!)).to.be.a('string');
    const access = calls.accessOf();
    const token = access.token(server);
    expect(await claimRefresh(calls.service.db, (await readGrant(calls.service.db, server.id))!)).to.equal(null);
    expect(slow.forms).to.deep.equal([]);
    await calls.service.db.query(`UPDATE mcp_oauth SET refresh_claimed_until = clock_timestamp() WHERE id = $1`, [
      server.id,
    ]);
    expect((await token).token).to.match(/^access-/);
    const [row] = await calls.service.db.query(
      'SELECT refresh_claim, refresh_claimed_until FROM mcp_oauth WHERE id = $1',
      [server.id],
    );
    expect(row).to.deep.equal({ refresh_claim: null, refresh_claimed_until: null });
  });

  it('Refreshes of OAuth tokens end with revoked tokens when the server was deleted meanwhile', async () => {
    const slow = await start();
    const server = await authorized(slow, { id: 'mcp_gone', expiresIn: -1 });
    const refused = calls
      .accessOf()
      .token(server)
      .then(
        () => null,
        (error: Error) => error.name,
      );
    await eventually('it is refreshed', () => slow.waiting === 1);
    const deleted = calls.service.api('DELETE', `/v1/mcp-servers/${server.id}`);
    await eventually('the old tokens are revoked', () => slow.waiting === 2);
    slow.isOpen = true;
    slow.release();
    slow.release();
    expect((await deleted).status).to.equal(204);
    expect(await refused).to.equal('AuthorizationRequiredError');
    const revoked = slow.forms.map((form) => form.get('token')).filter((token) => token !== null);
    expect(revoked).to.have.members(['old-refresh-mcp_gone', 'old-access-mcp_gone', 'refresh-1', 'access-1']);
  });

  it('Refreshes of OAuth tokens are waited for at shutdown', async () => {
    const slow = await start();
    const server = await authorized(slow, { id: 'mcp_shutdown', expiresIn: 30 });
    const access = calls.accessOf();
    await access.token(server);
    await access.token(server);
    await eventually('it is refreshed', () => slow.waiting === 1);
    const closed = access.close();
    slow.release();
    await closed;
    expect((await calls.accessOf().token(server)).token).to.equal('access-1');
  });
});
