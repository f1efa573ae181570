import { expect } from 'chai';
import { Claims, type Hold } from '../../../activities/sandbox/kubernetes/claims.js';
import { KubernetesProvider } from '../../../activities/sandbox/kubernetes/provider.js';
import { PackReader } from '../../../src/workspaces/packs.js';
import { CLAIM_SETTINGS, startTestApiServer } from '../../support/agent-sandbox.js';
import { eventually } from '../../support/eventually.js';
import { testLogger } from '../../support/log.js';
import { SANDBOX_SETTINGS } from '../../support/sandbox.js';
import { openTestStorage } from '../../support/storage.js';
import { use } from '../../support/use.js';

const { signal } = new AbortController();

describe('claims for sandboxes', () => {
  const cluster = use(startTestApiServer, (api) => api.close());
  let workers: Claims[] = [];
  beforeEach(() => {
    cluster.claims.clear();
    Object.assign(cluster.state, { quota: 4, quotaLagMs: 0, bindsAtOnce: true });
    workers = [1, 2, 3].map(() => new Claims(cluster.access, CLAIM_SETTINGS));
  });
  afterEach(() => Promise.all(workers.map((claims) => claims.close())));

  const claims = (worker = 0): Claims => workers[worker]!;
  const run = (session: string, project: string, worker = 0, stop = signal): Promise<Hold> =>
    claims(worker).hold({ sessionId: session, projectId: project }, 5000, stop);
  const end = (session: string, { use: of }: Hold): Promise<void> => claims().rest(session, of);
  const idle = async (session: string, project: string): Promise<void> => end(session, await run(session, project));
  const held = (): string[] => [...cluster.claims.keys()].map((name) => name.replace('workspace-', '')).sort();
  const projectOf = (labels: Record<string, string> = {}): string => labels['agent-session-service/project']!;
  const heldBy = (project: string): number =>
    [...cluster.claims.values()].filter(({ metadata }) => projectOf(metadata.labels) === project).length;

  it('claims for sandboxes are given back by a project that has half of the quota, the one that is idle for longest first', async () => {
    await idle('a1', 'a');
    await idle('a2', 'a');
    const [first, second] = ['workspace-a1', 'workspace-a2'].map((name) => cluster.claims.get(name)!.spec.lifecycle);
    first!.shutdownTime = new Date(Date.now() + 50_000).toISOString();
    second!.shutdownTime = new Date(Date.now() + 45_000).toISOString();
    await run('a3', 'a');
    expect(held()).to.deep.equal(['a1', 'a3']);
  });

  it('claims for sandboxes of the project itself are given back before those of others, and then those of the project that has most', async () => {
    cluster.state.quota = 5;
    await idle('a1', 'a');
    await idle('b1', 'b');
    await idle('b2', 'b');
    await idle('c1', 'c');
    await idle('d1', 'd');
    await run('a2', 'a');
    expect(held()).to.deep.equal(['a2', 'b1', 'b2', 'c1', 'd1']);
    await run('e1', 'e');
    expect(heldBy('b')).to.equal(1);
    expect(held()).to.include.members(['a2', 'c1', 'd1', 'e1']);
  });

  it('claims for sandboxes in which commands run are not given back: further calls of the project wait, and those of others do not', async () => {
    const running = await run('a1', 'a');
    await run('a2', 'a');
    let third: Hold | null = null;
    void run('a3', 'a').then((hold) => (third = hold));
    await run('b1', 'b');
    await idle('b2', 'b');
    expect(third).to.equal(null);
    expect(held()).to.deep.equal(['a1', 'a2', 'b1', 'b2']);
    await end('a1', running);
    await eventually('the third runs', () => third !== null, 5000);
    expect(held()).to.deep.equal(['a2', 'a3', 'b1', 'b2']);
  });

  it('claims for sandboxes leave a session its claim, however full the quota is', async () => {
    for (const session of ['a1', 'a2']) await run(session, 'a');
    for (const session of ['b1', 'b2']) await run(session, 'b');
    const requests = cluster.requests.length;
    await run('a1', 'a');
    expect(cluster.requests.slice(requests)).to.deep.equal(['PATCH /sandboxclaims/workspace-a1']);
  });

  it('claims for sandboxes of a project are no more than half, however many workers make them at once', async () => {
    cluster.state.quota = 8;
    const stop = new AbortController();
    let most = 0;
    let began = 0;
    const sessions = Array.from({ length: 12 }, (_, n) => `a${n}`);
    const calls = sessions.map(async (session, n) => {
      const hold = await run(session, 'a', n % 3, stop.signal);
      began += 1;
      most = Math.max(most, heldBy('a'));
      return hold;
    });
    void Promise.allSettled(calls);
    await eventually('the share is used up', () => began === 4, 10_000);
    await Promise.all(['b1', 'b2', 'b3', 'b4'].map((session, n) => run(session, 'b', n % 3)));
    await eventually('only the share is left', () => heldBy('a') === 4, 5000);
    expect(began).to.equal(4);
    expect(most).to.be.at.most(4 + 2);
    stop.abort(new Error('over'));
    await Promise.allSettled(calls);
  });

  it('claims for sandboxes are not given back one after the other while the quota has not noticed the first', async () => {
    cluster.state.quotaLagMs = 700;
    cluster.state.quota = 6;
    for (const session of ['a1', 'a2', 'a3']) await idle(session, 'a');
    for (const session of ['b1', 'b2', 'b3']) await idle(session, 'b');
    await run('c1', 'c');
    expect(cluster.claims.size).to.equal(6);
  });

  it('claims for sandboxes of a worker that is gone count as idle when nobody has renewed them', async () => {
    for (const session of ['a1', 'a2']) await run(session, 'a');
    const { lifecycle } = cluster.claims.get('workspace-a1')!.spec;
    lifecycle.shutdownTime = new Date(Date.now() + 20_000).toISOString();
    await run('a3', 'a');
    expect(held()).to.deep.equal(['a2', 'a3']);
  });

  it('claims for sandboxes keep the mark of the newest sandbox when an older one of the session ends later', async () => {
    const older = await run('a1', 'a');
    await run('a1', 'a', 1);
    await end('a1', older);
    await run('a2', 'a');
    const stop = new AbortController();
    const waiting = run('a3', 'a', 0, stop.signal).catch((error: unknown) => error);
    await eventually(
      'it has looked',
      () => cluster.requests.filter((line) => line === 'GET /sandboxclaims').length > 6,
    );
    expect(held()).to.deep.equal(['a1', 'a2']);
    stop.abort(new Error('cancelled'));
    expect(await waiting).to.have.property('message', 'cancelled');
  });

  it('claims for sandboxes are not taken from sessions while they are asked for: a claim that is used again stays', async () => {
    await idle('a1', 'a');
    const store = cluster.claims.get('workspace-a1')!;
    const { resourceVersion } = store.metadata;
    await run('a1', 'a', 1);
    expect(store.metadata.resourceVersion).to.not.equal(resourceVersion);
    const { url } = cluster.access;
    const path = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/agent-sandboxes/sandboxclaims/workspace-a1';
    const headers = { authorization: 'Bearer a-token', 'content-type': 'application/json' };
    const body = JSON.stringify({ preconditions: { resourceVersion } });
    expect((await fetch(`${url}${path}`, { method: 'DELETE', headers, body })).status).to.equal(409);
  });

  it('claims for sandboxes whose quota is used up are no fault: a worker starts, and its checks pass', async () => {
    for (const session of ['a1', 'a2']) await run(session, 'a');
    for (const session of ['b1', 'b2']) await run(session, 'b');
    const test = openTestStorage();
    const settings = { ...CLAIM_SETTINGS, ...SANDBOX_SETTINGS };
    const provider = new KubernetesProvider(settings, cluster.access, () => new PackReader(test.storage), testLogger());
    expect(await provider.check()).to.equal(null);
    cluster.problem.push({ status: 403, message: 'forbidden: User "worker" cannot create resource' });
    expect((await provider.check())!.reason).to.contain('refuses a claim');
    cluster.problem.pop();
    provider.close();
    test.remove();
  });
});
