import { expect } from 'chai';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import getPort from 'get-port';
import { parse, parseAllDocuments } from 'yaml';
import '../src/platform/database-metrics.js';
import '../src/turns/gauges.js';
import { registry } from '../src/platform/metrics.js';
import '../src/webhooks/metrics.js';
import { createTestDatabase, type TestDatabase } from './support/postgres.js';
import { startScriptedModel, type ScriptedModel } from './support/scripted-model.js';
import { temporalAddress } from './support/temporal.js';

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Rule {
  alert: string;
  expr: string;
}
const rules = (parse(read('deploy/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

describe('deployment files', () => {
  it('have a paragraph in the runbook for each alert, and no other', () => {
    const headings = [...read('docs/operations/runbook.md').matchAll(/^## (\w+)\n\S/gm)].map(([, name]) => name);
    expect(headings).to.deep.equal(rules.map(({ alert }) => alert));
  });

  it('ask only for metrics that exist', () => {
    const names = registry.getMetricsAsArray().map(({ name }) => name);
    for (const text of [
      ...rules.map(({ expr }) => expr),
      read('deploy/kubernetes/api.yaml'),
      read('deploy/kubernetes/worker.yaml'),
    ]) {
      for (const [name] of text.matchAll(/\b[a-z]+(_[a-z0-9]+)+(?=[{[])/g)) {
        // The Temporal SDK's own: test/metrics.test.ts looks at those.
        if (!name.startsWith('temporal_')) expect(names, name).to.include(name.replace(/_(bucket|count|sum)$/, ''));
      }
    }
  });

  it('are YAML, give processes longer than they take to drain, and no rights', () => {
    for (const file of readdirSync(new URL('deploy/kubernetes/', root)).filter((name) => name.endsWith('.yaml'))) {
      for (const document of parseAllDocuments(read(`deploy/kubernetes/${file}`))) {
        expect(document.errors).to.deep.equal([]);
        const pod = document.getIn(['spec', 'template', 'spec']) as { toJSON(): Pod } | undefined;
        if (document.get('kind') === 'Deployment') checkPod(pod!.toJSON());
        if (pod !== undefined) checkRights(pod.toJSON());
      }
    }
  });

  it('give the migration its own database login alone', () => {
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

  it('let the load balancer and its health checks in, and no other network', () => {
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

  it('let pods out to public addresses, the metadata server and Postgres in its range alone', () => {
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

  it('drain for as long as the load balancer still sends requests, and scale each build by its own work', () => {
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

  it('make the rules of Managed Prometheus from the same alerts', () => {
    const made = parse(
      execFileSync('sh', [fileURLToPath(new URL('deploy/kubernetes/rules.sh', root))], { encoding: 'utf8' }),
    );
    expect(made).to.deep.include({ kind: 'Rules', spec: parse(read('deploy/prometheus/alerts.yml')) });
  });
});

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

/** What the image runs, from dist, without a container around it. */
describe('the entry script of the image', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let dir: string;
  let env: NodeJS.ProcessEnv;
  before(async () => {
    [database, model] = await Promise.all([createTestDatabase(), startScriptedModel()]);
    dir = mkdtempSync(join(tmpdir(), 'image-'));
    const sizes = { context_window: 200_000, max_output_tokens: 8000, supports_thinking: true };
    const entry = { id: 'scripted', display_name: 'Scripted', model: 'scripted-1', base_url: model.url, ...sizes };
    writeFileSync(join(dir, 'models.json'), JSON.stringify([entry]));
    env = {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: await temporalAddress(),
      TASK_QUEUE: `image-${database.url.slice(-8)}`,
      MODELS_FILE: join(dir, 'models.json'),
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      STORAGE_URL: `file://${join(dir, 'files')}`,
      MAINTENANCE: 'off',
      SHUTDOWN_GRACE_SECONDS: '1',
    };
  });
  after(async () => {
    await Promise.all([database.drop(), model.close()]);
    rmSync(dir, { recursive: true });
  });

  interface Started {
    child: ChildProcess;
    output: () => string;
    /** Resolves with the exit code. */
    ended: Promise<number | null>;
  }

  function launch(command: string, args: string[], more: NodeJS.ProcessEnv = {}): Started {
    const child = spawn(command, args, { cwd: fileURLToPath(root), env: { ...env, ...more } });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    const ended = once(child, 'close').then(([code]) => code as number | null);
    return { child, output: () => output, ended };
  }
  const role = (...args: string[]): Started => launch('sh', ['deploy/image/entrypoint.sh', ...args]);

  async function ran(...args: string[]): Promise<{ code: number | null; output: string }> {
    const { ended, output } = role(...args);
    return { code: await ended, output: output() };
  }

  it('has every role that ends by itself', async () => {
    expect(await ran('migrate')).to.deep.equal({ code: 0, output: 'The database is up to date.\n' });
    expect(await ran('keys', 'create', '--project', 'demo')).to.include({ code: 0 });
    expect((await ran('keys', 'list', '--json')).output).to.contain('"project": "demo"');
    expect(await ran('keys', 'destroy'))
      .to.deep.include({ code: 2 })
      .and.have.property('output')
      .that.contains('Usage:');
    expect(await ran('maintenance', 'storage')).to.include({ code: 0 });
    expect(await ran('reencrypt')).to.include({ code: 0 });
    const { code, output } = await ran('doctor');
    expect(code, 'no worker runs').to.equal(1);
    expect(output)
      .to.contain('nobody polls the task queue')
      .and.match(/^1 of \d+ fail\.$/m);
    expect(await ran('console')).to.deep.include({ code: 2 });
  });

  it('says which setting is missing', async () => {
    const unset = { ...env, DATABASE_URL: undefined };
    for (const name of ['migrate', 'doctor', 'keys', 'maintenance', 'reencrypt']) {
      const args = { keys: ['list'], maintenance: ['storage'] }[name] ?? [];
      const { ended, output } = launch('sh', ['deploy/image/entrypoint.sh', name, ...args], unset);
      expect(await ended, name).to.be.greaterThan(0);
      expect(output(), name).to.match(/Set DATABASE_URL|DATABASE_URL is not set|DATABASE_URL must be set/);
      expect(output(), name)
        .to.not.contain('MODULE_NOT_FOUND')
        .and.not.match(/^ +at /m);
    }
  });

  /** Sends SIGTERM once the process has written `line`, and expects it to end well. */
  async function terminateAfter(line: string, { child, ended, output }: Started): Promise<void> {
    while (!output().includes(line)) {
      expect(child.exitCode, output()).to.equal(null);
      await sleep(20);
    }
    child.kill('SIGTERM');
    expect(await ended, output()).to.equal(0);
  }

  for (const [name, variable, started] of [
    ['api', 'PORT', 'the API listens'],
    ['worker', 'METRICS_PORT', 'worker started'],
  ] as const) {
    it(`gives SIGTERM on to the ${name}, which ends well`, async () => {
      const port = String(await getPort());
      await terminateAfter(started, launch('sh', ['deploy/image/entrypoint.sh', name], { [variable]: port }));
    });

    it(`starts the ${name} through a link to the checkout`, async () => {
      const link = join(dir, `checkout-${name}`);
      symlinkSync(fileURLToPath(root), link);
      const main = join(link, name === 'api' ? 'dist/api/main.js' : 'dist/activities/main.js');
      const { ended, output } = launch(process.execPath, [main], { MAX_STEPS: 'many' });
      expect(await ended, 'it looks at its settings').to.equal(1);
      expect(output()).to.contain('MAX_STEPS');
    });
  }

  it('ends a worker that still waits for Temporal', async () => {
    const worker = launch('sh', ['deploy/image/entrypoint.sh', 'worker'], { TEMPORAL_ADDRESS: '127.0.0.1:9' });
    await terminateAfter('Temporal is unreachable', worker);
  });
});
