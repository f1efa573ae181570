import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { CHART, chartTemplates, chartYaml } from '../deploy/helm/chart.js';
import { skip } from './support/skip.js';

interface Manifest {
  kind: string;
  metadata: { name?: string; generateName?: string; namespace?: string; annotations?: Record<string, string> | null };
  spec?: {
    template?: { spec: { containers: { securityContext: object; env: { name: string; valueFrom?: object }[] }[] } };
  };
}

const folder = fileURLToPath(CHART);
const parse = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJSON() as Manifest | null)
    .filter((manifest) => manifest !== null);

/** Without what Helm needs for the job that runs before: a name, and its hook. */
function comparable(manifests: Manifest[]): Map<string, object> {
  return new Map(
    manifests.map((manifest) => {
      const { generateName, annotations, ...metadata } = manifest.metadata;
      const own = Object.entries(annotations ?? {}).filter(([name]) => !name.startsWith('helm.sh/'));
      const name = metadata.name ?? generateName!.replace(/-$/, '');
      const shown = { ...metadata, name, ...(own.length > 0 && { annotations: Object.fromEntries(own) }) };
      return [`${manifest.kind} ${metadata.namespace ?? ''}/${name}`, { ...manifest, metadata: shown }];
    }),
  );
}

describe('the Helm chart', () => {
  const helm = (...args: string[]) => {
    const done = spawnSync('helm', args, { encoding: 'utf8' });
    if (done.error === undefined) expect(done.status, done.stdout + done.stderr).to.equal(0);
    return done;
  };
  const render = (...args: string[]): Manifest[] =>
    parse(
      helm('template', 'agent-session', folder, '--namespace', 'agent-session', '--kube-version', '1.31.0', ...args)
        .stdout,
    );

  before(function () {
    if (spawnSync('helm', ['version']).error !== undefined) skip(this, 'helm is not here');
  });

  it('the Helm chart passes the linter with the values of both kinds of cluster', () => {
    const build = ['--set', 'worker.builds[0].build=one', '--kube-version', '1.31.0'];
    helm('lint', '--strict', folder, ...build);
    helm('lint', '--strict', folder, ...build, '--values', `${folder}values-plain.yaml`);
  });

  it('the Helm chart makes what the manifests are, object for object', () => {
    const manifests = readdirSync(new URL('../kubernetes/', new URL('..', CHART)))
      .filter((name) => name.endsWith('.yaml'))
      .flatMap((name) => parse(readFileSync(new URL(`../../kubernetes/${name}`, CHART), 'utf8')));
    const [made, wanted] = [
      comparable(render('--set', 'createNamespace=true', '--set', 'sandbox.enabled=true')),
      comparable(manifests),
    ];
    expect([...made.keys()].sort()).to.deep.equal([...wanted.keys()].sort());
    for (const [name, manifest] of wanted) expect(made.get(name), name).to.deep.equal(manifest);
  });

  it('the Helm chart for a cluster of your own has no object and no address of Google, and takes addresses of the database from a Secret', () => {
    const made = render('--values', `${folder}values-plain.yaml`, '--set', 'image.repository=r.example/a');
    expect(made.map(({ kind }) => kind)).to.not.include.members([
      'ScaledObject',
      'Gateway',
      'PodMonitoring',
      'GCPBackendPolicy',
    ]);
    expect(made.map(({ kind }) => kind)).to.include('Ingress');
    expect(JSON.stringify(made)).to.not.match(/PROJECT|gke|google|35\.191|gmp-system/);
    const containers = made.flatMap(({ spec }) => spec?.template?.spec.containers ?? []);
    expect(containers).to.have.length(3);
    for (const { securityContext, env } of containers) {
      expect(securityContext).to.include({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
      expect(env.find(({ name }) => name === 'DATABASE_URL')).to.have.nested.property(
        'valueFrom.secretKeyRef.name',
        'database',
      );
    }
  });

  it('the Helm chart runs the builds of workers beside each other', () => {
    const made = render(
      '--set-json',
      'worker.builds=[{"build":"old","digest":"sha256:1"},{"build":"new","digest":""}]',
      '--set',
      'image.digest=sha256:2',
    );
    const workers = made.filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name!.startsWith('worker'));
    expect(workers.map(({ metadata }) => metadata.name)).to.deep.equal(['worker-old', 'worker-new']);
    expect(JSON.stringify(workers[0])).to.contain('@sha256:1"').and.contain('"WORKER_BUILD_ID","value":"old"');
    expect(JSON.stringify(workers[1])).to.contain('@sha256:2"');
  });
});

describe('the templates of the Helm chart', () => {
  it('the templates of the Helm chart are made from the manifests; if this fails: npm run chart', () => {
    for (const [name, text] of Object.entries({ ...chartTemplates() }))
      expect(readFileSync(new URL(`templates/${name}`, CHART), 'utf8'), name).to.equal(text);
    expect(readFileSync(new URL('Chart.yaml', CHART), 'utf8')).to.equal(chartYaml());
  });
});
