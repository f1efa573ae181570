import { connect } from 'node:net';
import { expect } from 'chai';
import { checkEnd, checkScan } from '../../../activities/sandbox/kubernetes/check-answers.js';
import { POD_PORT } from '../../../activities/sandbox/kubernetes/channel.js';
import { openInPod } from '../../../activities/sandbox/kubernetes/remote.js';
import { KubernetesProvider } from '../../../activities/sandbox/kubernetes/provider.js';
import { EMPTY_MANIFEST, type TreeEntry } from '../../../src/workspaces/manifest.js';
import { PackReader } from '../../../src/workspaces/packs.js';
import { SandboxFailedError, type CommandIo, type Sandbox } from '../../../src/workspaces/sandbox.js';
import { CLAIM_SETTINGS, newClusterProvider } from '../../support/agent-sandbox.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure.js';
import { testLogger } from '../../support/log.js';
import { processesWith } from '../../support/processes-with.js';
import { needSandbox, SANDBOX_SETTINGS, TestWorkspace } from '../../support/sandbox.js';
import { use } from '../../support/use.js';
import { describeProvider } from './provider-table.js';

const { signal } = new AbortController();
const IO: CommandIo = { cwd: '/workspace', stdin: null, timeoutMs: 30_000, onOutput: () => undefined, signal };
const bash = (command: string): string[] => ['bash', '-c', command];
function useCluster(settings: Parameters<typeof newClusterProvider>[0] = {}) {
  needSandbox();
  return use(
    () => newClusterProvider(settings),
    ({ remove }) => remove(),
  );
}

describeProvider('the provider of Kubernetes', (test) => newClusterProvider({}, test));

describe('the provider of Kubernetes, with its cluster', () => {
  const cluster = useCluster();
  const open = (sessionId: string): Promise<Sandbox> =>
    cluster.provider.open({ sessionId, projectId: 'prj_a', base: EMPTY_MANIFEST, mounts: [] }, signal);

  it('the provider of Kubernetes, with its cluster gives each session a claim that ends by itself, renews it with each command, and deletes it with the session', async () => {
    const mine = new TestWorkspace(cluster, 'ses_01CLAIM');
    await mine.bash('true');
    const name = 'workspace-ses-01claim';
    const { metadata, spec } = cluster.api.claims.get(name)!;
    expect(metadata.labels).to.deep.equal({
      'app.kubernetes.io/managed-by': 'agent-session-service',
      'agent-session-service/project': 'prj_a',
    });
    await eventually('the claim is idle', () => Object.keys(metadata.annotations!).length === 0);
    expect(spec.lifecycle.shutdownPolicy).to.equal('Delete');
    expect(Date.parse(spec.lifecycle.shutdownTime) - Date.now()).to.be.within(50_000, 60_000);
    const before = cluster.api.requests.length;
    await mine.bash('true');
    const ours = (): string[] =>
      cluster.api.requests.slice(before).filter((request) => !request.endsWith(' /sandboxclaims'));
    // One takes the claim for the command, one makes it idle.
    const twice = [`PATCH /sandboxclaims/${name}`, `PATCH /sandboxclaims/${name}`];
    await eventually('two requests', () => ours().length === 2);
    expect(ours()).to.deep.equal(twice);
    await cluster.provider.dispose('ses_01CLAIM');
    expect(cluster.api.claims.has(name)).to.equal(false);
    await cluster.provider.dispose('ses_01CLAIM');
  });

  it('the provider of Kubernetes, with its cluster goes on with the stored version in another pod when a pod is lost, between commands and while one runs', async () => {
    const mine = new TestWorkspace(cluster, 'ses_lost');
    await mine.bash('echo kept > a');
    await cluster.controller.losePod('workspace-ses-lost');
    expect((await mine.bash('cat a')).output).to.equal('kept\n');
    const sandbox = await open('ses_dies');
    const running = failureOf(sandbox.run(bash('sleep 30.717'), IO));
    await eventually('the command runs', () => processesWith('30.717').length > 0);
    await cluster.controller.losePod('workspace-ses-dies');
    expect(await running)
      .to.be.instanceOf(SandboxFailedError)
      .with.property('message')
      .that.contains('the connection of a sandbox has ended');
    await sandbox.close(null);
    expect((await new TestWorkspace(cluster, 'ses_dies').bash('echo again')).output).to.equal('again\n');
  });

  it('the provider of Kubernetes, with its cluster leaves no process of a command that is cancelled, and none when the worker is gone', async () => {
    const sandbox = await open('ses_cancel');
    const stop = new AbortController();
    const running = failureOf(sandbox.run(bash('sleep 30.718'), { ...IO, signal: stop.signal }));
    await eventually('the command runs', () => processesWith('30.718').length > 0);
    stop.abort(new Error('cancelled'));
    expect(await running).to.have.property('message', 'cancelled');
    expect(processesWith('30.718')).to.deep.equal([]);
    await sandbox.close(null);
    const other = await open('ses_cancel');
    const left = failureOf(other.run(bash('sleep 30.719'), IO));
    await eventually('the command runs', () => processesWith('30.719').length > 0);
    // The end of the connection is all that a pod sees of a worker's death.
    await other.close(null);
    await left;
    await eventually('no process is left', () => processesWith('30.719').length === 0, 2000);
  });

  it('the provider of Kubernetes, with its cluster ends the command of an older attempt when a newer one opens the session', async () => {
    const older = await open('ses_twice');
    const running = failureOf(older.run(bash('echo older > a; sleep 30.720'), IO));
    await eventually('the command runs', () => processesWith('30.720').length > 0);
    const newer = await open('ses_twice');
    expect(processesWith('30.720')).to.deep.equal([]);
    expect(await running).to.be.instanceOf(SandboxFailedError);
    const { code } = await newer.run(bash('[ ! -e a ]'), IO);
    expect(code).to.equal(0);
    await newer.close(null);
  });

  it('the provider of Kubernetes, with its cluster passes on a flood of output whole, at the pace of its reader', async () => {
    const sandbox = await open('ses_flood');
    let bytes = 0;
    const onOutput = async (chunk: Buffer): Promise<void> => {
      bytes += chunk.length;
      await new Promise((resolve) => setImmediate(resolve));
    };
    const { code } = await sandbox.run(bash('head -c 100M /dev/zero'), { ...IO, onOutput });
    await sandbox.close(null);
    expect({ code, bytes }).to.deep.equal({ code: 0, bytes: 100 * 1024 * 1024 });
  });

  it('the provider of Kubernetes, with its cluster does not speak to a pod that has the address of another one, and no pod answers what is no protocol', async () => {
    await new TestWorkspace(cluster, 'ses_address').bash('true');
    const status = cluster.api.claims.get('workspace-ses-address')!.status as { sandbox: { podIPs: string[] } };
    const address = status.sandbox.podIPs[0]!;
    const at = { sessionId: 'ses_address', projectId: 'prj_a', base: EMPTY_MANIFEST, mounts: [] };
    const options = { reader: new PackReader(cluster.test.storage), maxBytes: 1, signal };
    const failure = await failureOf(openInPod({ name: 'another-pod', address }, at, options));
    expect(failure).to.be.instanceOf(SandboxFailedError).with.property('message').that.contains('not another-pod');
    const socket = connect(POD_PORT, address);
    socket.write('GET / HTTP/1.1\r\n\r\n');
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).to.equal('');
  });

  it('the provider of Kubernetes, with its cluster deletes claims that the controller has left, and nobody else’s', async () => {
    const { api, controller, provider } = cluster;
    controller.isAway = true;
    const ours = { 'app.kubernetes.io/managed-by': 'agent-session-service' };
    const claim = (name: string, ago: number, labels: Record<string, string> = ours): unknown =>
      api.claims.set(name, {
        metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: new Date().toISOString(), labels },
        spec: {
          warmPoolRef: { name: 'workspace' },
          lifecycle: { shutdownTime: new Date(Date.now() - ago).toISOString(), shutdownPolicy: 'Delete' },
        },
      });
    claim('workspace-left', 130_000);
    claim('workspace-due', 10_000);
    claim('of-somebody-else', 130_000, {});
    expect(await provider.check()).to.equal(null);
    expect(api.claims.has('workspace-left')).to.equal(false);
    expect(api.claims.has('workspace-due')).to.equal(true);
    expect(api.claims.has('of-somebody-else')).to.equal(true);
    controller.isAway = false;
  });
});

describe('the provider of Kubernetes, without what it needs', () => {
  const cluster = useCluster({ bindTimeoutMs: 300 });
  const open = (): Promise<Sandbox> =>
    cluster.provider.open({ sessionId: 'ses_a', projectId: 'prj_a', base: EMPTY_MANIFEST, mounts: [] }, signal);

  it('the provider of Kubernetes, without what it needs gives a claim up that gets no pod, says so in each check, and works again with the controller', async () => {
    cluster.controller.isAway = true;
    const failure = await failureOf(open());
    expect(failure)
      .to.be.instanceOf(SandboxFailedError)
      .with.property('message', 'a claim got no pod in 0.3 s: its controller has not answered');
    expect([...cluster.api.claims.keys()]).to.deep.equal([]);
    expect((await cluster.provider.check())!.reason).to.contain('Sandboxes get no pods');
    cluster.controller.isAway = false;
    const { provider } = cluster;
    await eventually('claims get pods', async () => (await provider.check()) === null, 20_000);
  });

  it('the provider of Kubernetes, without what it needs is a failure of the sandbox when the cluster refuses a claim, and a check says what to do', async () => {
    const { api, provider } = cluster;
    api.problem.push({ status: 403, message: 'sandboxclaims is forbidden: User "worker" cannot create resource' });
    expect(await failureOf(open()))
      .to.be.instanceOf(SandboxFailedError)
      .with.property('message')
      .that.contains('a claim for a sandbox failed: 403: sandboxclaims is forbidden');
    const { reason, remedy } = (await provider.check())!;
    expect(reason).to.contain('403: sandboxclaims is forbidden');
    expect(remedy).to.contain('deploy/kubernetes/sandbox.yaml');
    api.problem.pop();
  });

  it('the provider of Kubernetes, without what it needs, says in a check what is missing: the pool, the API server, or the pod that the worker runs in', async () => {
    const { api, test } = cluster;
    const check = async (settings: object, access: typeof api.access | null = api.access) => {
      const all = { ...CLAIM_SETTINGS, ...SANDBOX_SETTINGS, ...settings };
      const provider = new KubernetesProvider(all, access, () => new PackReader(test.storage), testLogger());
      const { reason } = (await provider.check())!;
      provider.close();
      return reason;
    };
    expect(await check({ sandboxWarmPool: 'other' })).to.contain('no warm pool other in the namespace');
    expect(await check({}, { ...api.access, url: 'http://127.0.0.1:9' })).to.contain('cannot be reached');
    expect(await check({}, null)).to.contain('runs in no pod of Kubernetes');
  });
});

describe('the provider of Kubernetes, with a quota that is used up', () => {
  const cluster = useCluster();

  it('the provider of Kubernetes, with a quota that is used up runs the command of another project in the room of an idle session, whose next command finds its files', async () => {
    cluster.api.state.quota = 4;
    const [first, second] = ['ses_q1', 'ses_q2'].map((id) => new TestWorkspace(cluster, id, 'prj_idle'));
    await first!.bash('echo kept > a');
    await second!.bash('true');
    for (const id of ['ses_r1', 'ses_r2']) await new TestWorkspace(cluster, id, 'prj_other').bash('true');
    expect(cluster.api.claims.size).to.equal(4);
    expect((await new TestWorkspace(cluster, 'ses_s1', 'prj_new').bash('echo runs')).output).to.equal('runs\n');
    expect((await first!.bash('cat a')).output).to.equal('kept\n');
    expect(cluster.api.claims.size).to.equal(4);
  });
});

describe('what a pod answers', () => {
  const file = {
    kind: 'file',
    path: '/workspace/a',
    mode: 0o644,
    size: 1,
    mtime: 1,
    sha256: 'a'.repeat(64),
  } as TreeEntry;
  const scan = (...entries: unknown[]) =>
    checkScan({ entries: entries as TreeEntry[], notKept: 0, isOver: false }, 1000);

  it('what a pod answers is taken if it is a tree', async () => {
    const folder = { kind: 'directory', path: '/workspace/b', mode: 0o755 };
    const link = { kind: 'symlink', path: '/workspace/b/l', target: '../../etc/passwd' };
    expect(await scan({ ...file, more: 1 }, folder, link)).to.deep.equal([{ ...file, at: null }, folder, link]);
  });

  it('what a pod answers is refused if a tree cannot be so', async () => {
    const wrong: unknown[][] = [
      [{ ...file, path: '/workspace/../../etc/passwd' }],
      [{ ...file, path: '/etc/passwd' }],
      [{ ...file, path: '/workspace' }],
      [{ ...file, path: '/workspace//a' }],
      [{ ...file, path: '/workspace/./a' }],
      [{ ...file, path: '/workspace/a\0' }],
      [{ ...file, path: '/workspace/\ud800' }],
      [{ ...file, path: `/workspace/${'a'.repeat(1100)}` }],
      [{ ...file, path: '/workspace/missing/a' }],
      [
        { kind: 'symlink', path: '/workspace/a', target: '/etc' },
        { ...file, path: '/workspace/a/b' },
      ],
      [file, file],
      [{ ...file, path: '/workspace/b' }, file],
      [{ ...file, mode: 0o4755 }],
      [{ ...file, size: -1 }],
      [{ ...file, size: 1001 }],
      [{ ...file, mtime: 0.5 }],
      [{ ...file, sha256: 'x' }],
      [{ ...file, kind: 'pipe' }],
      [{ kind: 'symlink', path: '/workspace/a', target: '' }],
      [{ kind: 'symlink', path: '/workspace/a', target: 'x'.repeat(1025) }],
      [null],
      ['/workspace/a'],
      Array.from({ length: 20_001 }, (_, at) => ({
        ...file,
        size: 0,
        path: `/workspace/${String(at).padStart(9, '0')}`,
      })),
    ];
    for (const entries of wrong) {
      const error = await scan(...entries).catch((thrown: unknown) => thrown);
      expect(error, JSON.stringify(entries).slice(0, 100)).to.be.instanceOf(SandboxFailedError);
    }
    const none = await checkScan({ entries: null as never, notKept: 0, isOver: false }, 1).catch(
      (thrown: unknown) => thrown,
    );
    expect(none).to.be.instanceOf(SandboxFailedError);
  });

  it('what a pod answers is refused if a command cannot end so', () => {
    const end = { code: 0, stopped: null, cwd: '/workspace', ms: 1.4 };
    expect(checkEnd(end)).to.deep.equal({ ...end, ms: 1 });
    expect(checkEnd({ ...end, code: null, stopped: 'memory' })).to.include({ stopped: 'memory' });
    const wrong: Record<string, unknown>[] = [
      { code: 256 },
      { code: null },
      { stopped: 'disk' },
      { cwd: 'a' },
      { ms: '1' },
      { cwd: 7 },
    ];
    for (const change of wrong)
      expect(() => checkEnd(Object.assign({}, end, change)), JSON.stringify(change)).to.throw(SandboxFailedError);
    expect(() => checkEnd(undefined)).to.throw(SandboxFailedError);
  });
});
