import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import '../src/db/database-metrics.js';
import '../src/platform/slot-metrics.js';
import '../src/turns/gauges.js';
import '../src/reconciler/gauges.js';
import '../src/schedules/metrics.js';
import { loadConfig } from '../src/platform/config.js';
import { registry } from '../src/platform/metrics.js';
import '../src/webhooks/metrics.js';

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Rule {
  alert: string;
  expr: string;
}
const rules = (parse(read('deploy/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

/** What `node` would get in its environment if a shell ran the command. */
function environmentOf(command: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'node-'));
  writeFileSync(join(folder, 'node'), '#!/bin/sh\nenv\n', { mode: 0o755 });
  try {
    const env = { PATH: `${folder}:${process.env.PATH}` };
    return execFileSync('sh', ['-c', command], { cwd: fileURLToPath(root), env, encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('deployment files', () => {
  it('deployment files start each process that holds large buffers with settings that give their memory back', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const entrypoint = 'exec sh deploy/image/entrypoint.sh';
    for (const command of [
      scripts.start!,
      scripts.api!,
      scripts.worker!,
      `${entrypoint} api`,
      `${entrypoint} worker`,
    ]) {
      expect(environmentOf(command), command)
        .to.contain('MALLOC_ARENA_MAX=2')
        .and.contain('MALLOC_MMAP_THRESHOLD_=262144')
        .and.contain('MALLOC_TRIM_THRESHOLD_=262144');
    }
  });

  it('deployment files have a paragraph in the runbook for each alert, and no other', () => {
    const headings = [...read('docs/operations/runbook.md').matchAll(/^## (\w+)\n\S/gm)].map(([, name]) => name);
    expect(headings).to.deep.equal(rules.map(({ alert }) => alert));
  });

  /** The metrics of the service, without those of the Node process. */
  const own = registry
    .getMetricsAsArray()
    .filter(({ name }) => !/^(process|nodejs)_/.test(name)) as unknown as Metric[];
  /** The metrics and alerts that the rows of the page's tables name. */
  const rowsOf = (page: string): string[] =>
    read(page)
      .split('\n')
      .filter((line) => line.startsWith('| `'));
  const namedIn = (cell: string): string[] => [...cell.matchAll(/`(\w+)(?:\{[^`]*)?`/g)].map(([, name]) => name!);

  it('deployment files have a row in the runbook for each gauge, which names a paragraph', () => {
    const rows = rowsOf('docs/operations/runbook.md').map((line) => line.split(' | '));
    const gauges = own.filter(({ type }) => type === 'gauge').map(({ name }) => name);
    expect(rows.flatMap(([gauge]) => namedIn(gauge!)).sort()).to.deep.equal(gauges.sort());
    const alerts = new Set(rules.map(({ alert }) => alert));
    for (const [gauge, , paragraph] of rows) {
      expect(
        paragraph!.match(/[A-Z][a-z]+[A-Z]\w+/g)!.every((name) => alerts.has(name)),
        gauge,
      ).to.equal(true);
    }
  });

  it('deployment files have a row in the page about metrics for each metric', () => {
    const described = rowsOf('docs/operations/observing.md').flatMap((line) => namedIn(line.split(' | ')[0]!));
    for (const { name } of own) expect(described, name).to.include(name);
  });

  it('deployment files alert on a fleet, a leader or a Temporal that is not there to count', () => {
    const absent = rules.flatMap(({ expr }) => [...expr.matchAll(/absent\((.*?)\)/g)].map(([, what]) => what));
    expect(absent).to.deep.equal(['up{job="api"}', 'up{job="worker"}', 'turns_open', 'task_queue_backlog_tasks']);
  });

  it('deployment files ask only for metrics that exist', () => {
    const names = registry.getMetricsAsArray().map(({ name }) => name);
    const inRules = rules
      .map(({ expr }) => expr.replaceAll(/\bby \(.*?\)|\{.*?\}|\b(?:histogram_quantile|max_over_time)\b/g, ''))
      .flatMap((expr) => expr.match(/\b[a-z]+(_[a-z0-9]+)+\b/g) ?? []);
    expect(inRules).to.include('turns_due');
    const inManifests = ['api', 'worker'].flatMap((file) =>
      read(`deploy/kubernetes/${file}.yaml`).match(/\b[a-z]+(_[a-z0-9]+)+(?=[{[])/g)!,
    );
    for (const name of [...inRules, ...inManifests]) {
      // The Temporal SDK's own: test/metrics.test.ts looks at those. And those of node_exporter, with its files.
      if (!/^(temporal_|node_filesystem_|agent_session_backup_)/.test(name))
        expect(names, name).to.include(name.replace(/_(bucket|count|sum)$/, ''));
    }
  });

  it('deployment files are YAML, give processes longer than they take to drain, and no rights', () => {
    for (const file of readdirSync(new URL('deploy/kubernetes/', root)).filter((name) => name.endsWith('.yaml'))) {
      for (const document of parseAllDocuments(read(`deploy/kubernetes/${file}`))) {
        expect(document.errors).to.deep.equal([]);
        const pod = document.getIn(['spec', 'template', 'spec']) as { toJSON(): Pod } | undefined;
        if (document.get('kind') === 'Deployment') checkPod(pod!.toJSON());
        if (pod !== undefined) checkRights(pod.toJSON());
      }
    }
  });

  it('deployment files give the migration its own database login alone', () => {
    const [job] = parseAllDocuments(read('deploy/kubernetes/migrate.yaml'));
    const pod = (job!.getIn(['spec', 'template', 'spec']) as { toJSON(): Pod }).toJSON();
    const [container] = pod.containers;
    expect(container!.envFrom).to.equal(undefined);
    expect(container!.env.map(({ name }) => name)).to.deep.equal(['DATABASE_AUTH', 'DATABASE_URL']);
  });

  const documents = (file: string): Manifest[] =>
    parseAllDocuments(read(`deploy/kubernetes/${file}.yaml`)).map((document) => document.toJSON() as Manifest);
  const policy = (name: string): PolicySpec =>
    documents('network-policy').find(({ metadata }) => metadata.name === name)!.spec as PolicySpec;
  /** The ports that a rule of `rules` opens to an address block. */
  const portsFor = (rules: PolicyRule[], cidr: string): number[] =>
    rules.flatMap(({ from, to, ports }) =>
      (from ?? to ?? []).some((peer) => peer.ipBlock?.cidr === cidr)
        ? (ports ?? [{ port: 0 }]).map(({ port }) => port)
        : [],
    );

  it('deployment files let the load balancer and its health checks in, and no other network', () => {
    const { ingress } = policy('api');
    for (const range of ['35.191.0.0/16', '130.211.0.0/22'])
      expect(portsFor(ingress!, range)).to.deep.equal([8080, 9464]);
    expect(ingress!.every(({ from }) => from !== undefined)).to.equal(true);
    const [check] = documents('gateway').filter(({ kind }) => kind === 'HealthCheckPolicy');
    const { port, requestPath } = (check!.spec as HealthCheck).default.config.httpHealthCheck;
    expect([port, requestPath], 'not what fails in every pod when Postgres fails over').to.deep.equal([
      9464,
      '/healthz',
    ]);
    expect(portsFor(policy('worker').ingress!, '35.191.0.0/16')).to.deep.equal([]);
  });

  it('deployment files let pods out to public addresses, the metadata server and Postgres in its range alone', () => {
    const { egress, podSelector } = policy('egress');
    expect(podSelector.matchExpressions![0]!.values).to.deep.equal(['api', 'worker']);
    const [everywhere] = egress!.flatMap(({ to }) => to ?? []);
    expect(everywhere!.ipBlock!.except).to.include.members(['10.0.0.0/8', '169.254.0.0/16', '192.168.0.0/16']);
    expect(portsFor(egress!, '169.254.169.254/32')).to.deep.equal([80, 988]);
    const range = /address\s+= "([\d.]+)"\s+prefix_length = (\d+)/.exec(read('deploy/gcp/network.tf'));
    const postgres = egress!.filter(({ ports }) => ports?.some(({ port }) => port === 5432));
    expect(postgres.map(({ to }) => to)).to.deep.equal([[{ ipBlock: { cidr: `${range![1]}/${range![2]}` } }]]);
    expect(policy('migrate').egress!.filter(({ to }) => to === undefined)).to.have.length(1);
  });

  it('deployment files let sandbox pods reach nothing and be reached by the workers alone, with gVisor and no rights', () => {
    const of = (kind: string, name: string): unknown =>
      documents('sandbox').find((one) => one.kind === kind && one.metadata.name === name)!.spec;
    expect(of('NetworkPolicy', 'nothing')).to.deep.equal({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const { ingress, egress } = of('NetworkPolicy', 'workers') as PolicySpec;
    expect(egress).to.equal(undefined);
    const daemon = /POD_PORT = (\d+)/.exec(read('activities/sandbox/kubernetes/channel.ts'))![1];
    expect(ingress!.map(({ from, ports }) => [from, ports!.map(({ port }) => String(port))])).to.deep.equal([
      [
        [
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'agent-session' } },
            podSelector: { matchLabels: { app: 'worker' } },
          },
        ],
        [daemon],
      ],
    ]);
    const template = of('SandboxTemplate', 'workspace') as {
      networkPolicyManagement: string;
      podTemplate: { spec: Pod & { runtimeClassName: string } };
    };
    // The controller's own policy would let pods out to the internet.
    expect(template.networkPolicyManagement).to.equal('Unmanaged');
    const { spec } = template.podTemplate;
    expect(spec.runtimeClassName).to.equal('gvisor');
    checkRights(spec);
    expect(spec.containers[0]).to.deep.include({
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    });
  });

  it('deployment files name the namespace, the pool and the limits of sandboxes as the settings do', () => {
    const env = { DATABASE_URL: 'postgres://localhost/x', ENCRYPTION_KEY: 'A'.repeat(43) + '=' };
    const { sandboxNamespace, sandboxWarmPool, sandboxMemoryMb, sandboxDiskMb } = loadConfig(env);
    const pool = documents('sandbox').find(({ kind }) => kind === 'SandboxWarmPool')!;
    expect(pool.metadata).to.deep.equal({ name: sandboxWarmPool, namespace: sandboxNamespace });
    const template = documents('sandbox').find(({ kind }) => kind === 'SandboxTemplate')!;
    const [container] = (template.spec as { podTemplate: { spec: Pod } }).podTemplate.spec.containers;
    const valueOf = (name: string): string => container!.env.find((one) => one.name === name)!.value;
    expect([valueOf('SANDBOX_MEMORY_MB'), valueOf('SANDBOX_DISK_MB')].map(Number)).to.deep.equal([
      sandboxMemoryMb,
      sandboxDiskMb,
    ]);
  });

  it('deployment files put bubblewrap into the image, and start programs that the build makes', () => {
    const [, , image] = read('Dockerfile')
      .split(/^FROM /m)
      .slice(1);
    expect(image).to.match(/apt-get install .*\bbubblewrap\b/);
    expect(image!.indexOf('apt-get')).to.be.lessThan(image!.indexOf('USER 1000'));
    const started = [...read('deploy/image/entrypoint.sh').matchAll(/dist\/([\w/]+)\.js/g)].map(([, path]) => path!);
    expect(started).to.include.members(['api/main', 'activities/main', 'activities/sandbox/kubernetes/main']);
    for (const path of started) expect(existsSync(new URL(`${path}.ts`, root)), path).to.equal(true);
    // The pods of sandboxes have the same files, and programs for commands.
    expect(read('deploy/image/sandbox.Dockerfile')).to.contain('FROM ${SERVICE_IMAGE}').and.contain('CMD ["sandbox"]');
  });

  it('deployment files drain for as long as the load balancer still sends requests, and scale each build by its own work', () => {
    const [api] = documents('api');
    const pod = (api!.spec as { template: { spec: Pod } }).template.spec;
    const preStop = pod.containers[0]!.lifecycle!.preStop.sleep.seconds;
    const grace = Number(pod.containers[0]!.env.find(({ name }) => name === 'SHUTDOWN_GRACE_SECONDS')!.value);
    expect(preStop).to.be.at.least(25);
    expect(pod.terminationGracePeriodSeconds).to.be.greaterThan(preStop + grace);
    const scaled = documents('worker').find(({ kind }) => kind === 'ScaledObject')!;
    const queries = (scaled.spec as { triggers: { metadata: { query?: string } }[] }).triggers.flatMap(
      ({ metadata }) => metadata.query ?? [],
    );
    expect(queries.length).to.be.greaterThan(0);
    for (const query of queries) expect(query).to.contain('build="BUILD"');
  });

  it('deployment files make the rules of Managed Prometheus from the same alerts', () => {
    const made = parse(
      execFileSync('sh', [fileURLToPath(new URL('deploy/kubernetes/rules.sh', root))], { encoding: 'utf8' }),
    );
    expect(made).to.deep.include({ kind: 'Rules', spec: parse(read('deploy/prometheus/alerts.yml')) });
  });
});

interface Metric {
  name: string;
  type: string;
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: unknown;
}

interface PolicyRule {
  from?: { ipBlock?: { cidr: string } }[];
  to?: { ipBlock?: { cidr: string; except?: string[] } }[];
  ports?: { port: number }[];
}

interface PolicySpec {
  podSelector: { matchExpressions?: { values: string[] }[] };
  ingress?: PolicyRule[];
  egress?: PolicyRule[];
}

interface HealthCheck {
  default: { config: { httpHealthCheck: { port: number; requestPath: string } } };
}

interface Pod {
  terminationGracePeriodSeconds: number;
  automountServiceAccountToken: boolean;
  securityContext: { runAsNonRoot: boolean };
  containers: {
    image: string;
    env: { name: string; value: string }[];
    envFrom: unknown[];
    lifecycle?: { preStop: { sleep: { seconds: number } } };
    securityContext: { readOnlyRootFilesystem: boolean };
  }[];
}

/** No token of the cluster's own API, no right to the root file system, an image that cannot change under its name. */
function checkRights({ automountServiceAccountToken, securityContext, containers }: Pod): void {
  expect(automountServiceAccountToken).to.equal(false);
  expect(securityContext.runAsNonRoot).to.equal(true);
  for (const { image, securityContext } of containers) {
    expect(image).to.contain('@sha256:');
    expect(securityContext.readOnlyRootFilesystem).to.equal(true);
  }
}

function checkPod({ terminationGracePeriodSeconds, containers: [container] }: Pod): void {
  const grace = Number(container!.env.find(({ name }) => name === 'SHUTDOWN_GRACE_SECONDS')!.value);
  expect(terminationGracePeriodSeconds).to.be.greaterThan(grace + 5);
}
