import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import type { ApiResponse } from '../../support/client.js';
import { apiClient, type ApiCall } from '../../support/client.js';
import { checkAgainstOpenApi } from '../../support/openapi-check.js';
import { startService } from '../../support/service.js';
import { reachedLimit } from '../../support/rows.js';
import { runKeys } from '../../../ops/keys.js';
import { createRateLimiter, type KeyCounter } from '../../../src/projects/limits.js';
import { useService } from '../../support/use.js';

describe('rate limits (decisions.md "HTTP")', () => {
  let projectName: string;
  let key: string;
  let api: ApiCall;
  const service = useService({ config: { rateLimitPerMinute: 60 } });

  const create = (caller = api): Promise<ApiResponse> => caller('POST', '/v1/sessions', { model_id: 'test-model' });
  // Each test has a project of its own, in which nothing was counted.
  beforeEach(async function () {
    projectName = this.currentTest!.title;
    key = await service.newKey({ project: projectName });
    api = service.as(key);
  });

  it('rate limits let exactly 60 of 100 parallel requests through, whichever process gets them', async () => {
    const other = await service.anotherApi();
    const clients = [api, apiClient(other.url, key, checkAgainstOpenApi)];
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => create(clients[i % 2])));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).to.have.length(60);
    expect(statuses.filter((status) => status === 429)).to.have.length(40);
    reachedLimit('rate: 60 requests a minute');
  });

  it('rate limits show the remaining requests, on successes and errors alike', async () => {
    const first = await create();
    expect(first.headers.get('ratelimit-limit')).to.equal('60');
    expect(first.headers.get('ratelimit-remaining')).to.equal('59');
    expect(first.headers.get('ratelimit-reset')).to.equal('60');
    const invalid = await api('POST', '/v1/sessions', {});
    expect(invalid.status).to.equal(422);
    expect(invalid.headers.get('ratelimit-remaining')).to.equal('58');
    const unlimited = await api('GET', '/v1/sessions');
    expect(unlimited.headers.get('ratelimit-limit')).to.equal(null);
  });

  it('rate limits are remembered by the process only where it refuses requests', async () => {
    const counters = new Map<string, KeyCounter>();
    const limiter = createRateLimiter(service.db, 2, counters);
    const project = (n: number) => ({ projectId: `proj_${n}`, ratePerMinute: null });
    await Promise.all(Array.from({ length: 20 }, (_, n) => limiter(project(n), 'create_session')));
    expect(counters.size).to.equal(0);
    const counted = Array.from({ length: 3 }, () => limiter(project(0), 'create_session'));
    expect(counters.size).to.equal(1);
    expect((await Promise.all(counted)).map((state) => state!.exceeded)).to.deep.equal([false, true, true]);
    expect([...counters.keys()]).to.deep.equal(['proj_0:create_session']);
    await service.db.query(`UPDATE rate_limits SET expire = 0 WHERE key LIKE 'proj_0:%'`);
    expect((await limiter(project(0), 'create_session'))!.exceeded, 'without a query').to.equal(true);
  });

  describe('a rate limit of a project', () => {
    const limit = (...args: string[]) =>
      runKeys(['limit', '--project', projectName, ...args], service.config.databaseUrl);
    const shown = async (caller = api) => (await create(caller)).headers.get('ratelimit-limit');
    /** Sends requests until the limit that answers show is this one; a process may take 5 s to read it. */
    const until = (expected: string | null, caller = api): Promise<void> =>
      // The promise is 5 s; the rest is room for a busy machine.
      eventually(`the limit ${expected}`, async () => (await shown(caller)) === expected, 15_000);

    it('a rate limit of a project replaces the general one, and gives way to it again', async () => {
      expect(await shown()).to.equal('60');
      expect(await limit('--rate-per-minute', '100000')).to.equal(0);
      await until('100000');
      expect(await limit('--rate-per-minute', '1')).to.equal(0);
      await until('1');
      const refused = await create();
      expect([refused.status, refused.body.error?.type]).to.deep.equal([429, 'rate_limit_exceeded']);
      expect(refused.headers.get('ratelimit-remaining')).to.equal('0');
      // The other projects keep theirs.
      expect(await shown(service.as(await service.newKey({ project: 'unlimited neighbour' })))).to.equal('60');
      expect(await limit('--rate-per-minute', '0')).to.equal(0);
      await until(null);
      for (let request = 0; request < 70; request += 1) expect((await create()).status).to.equal(201);
      expect(await limit('--rate-per-minute', '--max-running-turns', '50')).to.equal(0);
      await until('60');
    });

    it('a rate limit of a project lets through what it allows once it is raised in the middle of a window', async () => {
      await limit('--rate-per-minute', '2');
      for (let request = 0; request < 5; request += 1) await create();
      expect((await create()).status).to.equal(429);
      await limit('--rate-per-minute', '1000');
      await until('1000');
      expect((await create()).status).to.equal(201);
    });

    it('a rate limit of a project counts where the general one is off', async () => {
      const off = await startService({ config: { rateLimitPerMinute: 0 } });
      try {
        const caller = off.as(await off.newKey({ project: 'own' }));
        expect(await shown(caller)).to.equal(null);
        const set = (...args: string[]) => runKeys(['limit', '--project', 'own', ...args], off.config.databaseUrl);
        expect(await set('--rate-per-minute', '3')).to.equal(0);
        await until('3', caller);
        const statuses = [];
        for (let request = 0; request < 3; request += 1) statuses.push((await create(caller)).status);
        expect(statuses).to.deep.equal([201, 201, 429]);
        expect(await set('--rate-per-minute')).to.equal(0);
        await until(null, caller);
      } finally {
        await off.close();
      }
    });

    it('a rate limit of a project is an error where there is no such project', async () => {
      expect(
        await runKeys(['limit', '--project', 'none', '--rate-per-minute', '5'], service.config.databaseUrl),
      ).to.equal(1);
    });
  });

  it('rate limits count per project and operation', async () => {
    await Promise.all(Array.from({ length: 61 }, () => create()));
    expect((await create()).status).to.equal(429);
    const other = service.as(await service.newKey({ project: 'other' }));
    expect((await create(other)).status).to.equal(201);
    expect((await api('DELETE', '/v1/sessions/ses_none')).status).to.equal(404);
    const sibling = service.as(await service.newKey({ project: projectName }));
    expect((await create(sibling)).status).to.equal(429);
  });

  it('rate limits do not count requests without the permission', async () => {
    const reader = service.as(await service.newKey({ project: projectName, scopes: ['sessions:read'] }));
    await create(reader);
    expect((await create()).headers.get('ratelimit-remaining')).to.equal('59');
  });

  it('rate limits survive a restart', async () => {
    await Promise.all(Array.from({ length: 60 }, () => create()));
    const restarted = await service.anotherApi();
    expect((await create(apiClient(restarted.url, key, checkAgainstOpenApi))).status).to.equal(429);
  });

  it('rate limits give a Retry-After that is enough', async () => {
    await Promise.all(Array.from({ length: 60 }, () => create()));
    const ends = Date.now() + 4000;
    await service.db.query('UPDATE rate_limits SET expire = $1', [ends]);
    const refused = await create();
    expect(refused.status).to.equal(429);
    expect(refused.body.error.type).to.equal('rate_limit_exceeded');
    const retryAfter = Number(refused.headers.get('retry-after'));
    expect(retryAfter).to.be.within(1, 4);
    expect(Date.now() + retryAfter * 1000).to.be.at.least(ends);
    expect(refused.headers.get('ratelimit-remaining')).to.equal('0');
    expect((await create()).status).to.equal(429);
    await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
    const next = await create();
    expect(next.status).to.equal(201);
    expect(next.headers.get('ratelimit-remaining')).to.equal('59');
  });
});
