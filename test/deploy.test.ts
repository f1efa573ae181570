import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import getPort from 'get-port';
import { parse, parseAllDocuments } from 'yaml';
import '../src/platform/database-metrics.js';
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

  it('give the migration its own secret alone', () => {
    const [job] = parseAllDocuments(read('deploy/kubernetes/migrate.yaml'));
    const pod = (job!.getIn(['spec', 'template', 'spec']) as { toJSON(): Pod }).toJSON();
    expect(pod.containers[0]!.envFrom).to.deep.equal([{ secretRef: { name: 'migrate' } }]);
  });
});

interface Pod {
  terminationGracePeriodSeconds: number;
  automountServiceAccountToken: boolean;
  securityContext: { runAsNonRoot: boolean };
  containers: {
    image: string;
    env: { name: string; value: string }[];
    envFrom: unknown[];
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
