/** The provider of Kubernetes on a real API server, which `npm run check -- manifests` starts; the test plays controller and pods. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { ClusterAccess } from '../../activities/sandbox/kubernetes/cluster-api.js';
import { EMPTY_MANIFEST } from '../../src/workspaces/manifest.js';
import { SandboxFailedError } from '../../src/workspaces/sandbox.js';
import { describeProvider } from '../../test/activities/sandbox/provider-table.js';
import { NAMESPACE, newProviderAt } from '../../test/support/agent-sandbox.js';
import { eventually } from '../../test/support/eventually.js';
import { requireSandbox, TestWorkspace } from '../../test/support/sandbox.js';
import { use } from '../../test/support/use.js';

const { CLUSTER_URL: url = '', CLUSTER_CA: caFile = '', WORKER_TOKEN = '', CONTROLLER_TOKEN = '' } = process.env;
const accessWith = (token: string): ClusterAccess => ({
  ...{ url, ca: readFileSync(caFile, 'utf8'), token: () => Promise.resolve(token) },
});
const accesses = () => ({ worker: accessWith(WORKER_TOKEN), controller: accessWith(CONTROLLER_TOKEN) });

describeProvider('the provider of Kubernetes on a real API server', (test) => newProviderAt(accesses(), {}, test));

describe('the worker’s account on a real API server', () => {
  before(async function () {
    await requireSandbox(this);
  });
  const cluster = use(
    () => Promise.resolve(newProviderAt(accesses(), { bindTimeoutMs: 1000 })),
    ({ remove }) => remove(),
  );

  it('the worker’s account has the rights that a worker needs, and no others', async () => {
    expect(await cluster.provider.check()).to.equal(null);
    const status = async (path: string, init: RequestInit = {}): Promise<number> => {
      const headers = { authorization: `Bearer ${WORKER_TOKEN}`, 'content-type': 'application/json' };
      return (await fetch(`${url}${path}`, { ...init, headers })).status;
    };
    const core = `/api/v1/namespaces/${NAMESPACE}`;
    expect(await status(`${core}/pods`)).to.equal(403);
    expect(await status(`${core}/secrets`)).to.equal(403);
    expect(await status(`${core}/pods/x/exec?command=id`, { method: 'POST' })).to.equal(403);
    const claims = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxclaims';
    expect(await status(claims)).to.equal(403);
  });

  it('the worker’s account makes claims that the definitions accept, renews them, and deletes them', async () => {
    const mine = new TestWorkspace(cluster, 'ses_real');
    await mine.bash('echo kept > a');
    expect((await mine.bash('cat a')).output).to.equal('kept\n');
    const read = async () => (await cluster.controller.request('GET', '/sandboxclaims/workspace-ses-real')) as Claim;
    const { spec } = await read();
    expect(spec.lifecycle.shutdownPolicy).to.equal('Delete');
    expect(Date.parse(spec.lifecycle.shutdownTime) - Date.now()).to.be.within(20_000, 60_000);
    await cluster.provider.dispose('ses_real');
    await eventually('the claim is gone', async () => (await read()).metadata.name === undefined);
  });

  it('the worker’s account gets an error of the sandbox while no controller binds', async () => {
    cluster.controller.isAway = true;
    const opened = cluster.provider.open(
      { sessionId: 'ses_away', projectId: 'prj_a', base: EMPTY_MANIFEST, mounts: [] },
      AbortSignal.timeout(20_000),
    );
    expect(await opened.catch((error: unknown) => error)).to.be.instanceOf(SandboxFailedError);
    cluster.controller.isAway = false;
  });
});

interface Claim {
  metadata: { name?: string };
  spec: { lifecycle: { shutdownTime: string; shutdownPolicy: string } };
}
