import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../src/platform/free-port.js';
import { createTestDatabase, type TestDatabase } from './support/postgres.js';
import { startScriptedModel, type ScriptedModel } from './support/scripted-model.js';
import { temporalAddress } from './support/temporal.js';

const root = new URL('../', import.meta.url);

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

  it('the entry script of the image has every role that ends by itself', async () => {
    expect(await ran('migrate')).to.deep.equal({ code: 0, output: 'The database is up to date.\n' });
    expect(await ran('keys', 'create', '--project', 'demo')).to.include({ code: 0 });
    expect((await ran('keys', 'list', '--json')).output).to.contain('"project": "demo"');
    expect(await ran('keys', 'destroy'))
      .to.deep.include({ code: 2 })
      .and.have.property('output')
      .that.contains('Usage:');
    expect(await ran('maintenance', 'storage')).to.include({ code: 0 });
    expect(await ran('turn', 'show', 'turn_none')).to.include({ code: 1, output: 'There is no turn turn_none.\n' });
    expect((await ran('top')).output).to.contain('The last 15 minutes');
    expect(await ran('reencrypt')).to.include({ code: 0 });
    expect(await ran('usage', 'forget', '--project', 'demo', '--metadata', 'a=b')).to.include({ code: 0 });
    const { code, output } = await ran('doctor');
    expect(code, 'no worker runs').to.equal(1);
    expect(output)
      .to.contain('no worker lives on the task queue')
      .and.match(/^1 of \d+ fail\.$/m);
    expect(await ran('console')).to.deep.include({ code: 2 });
  });

  it('the entry script of the image names the missing setting', async () => {
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
    await Promise.race([
      printed(child, () => output().includes(line)),
      ended.then((code) => expect.fail(`it ended with ${code}:\n${output()}`)),
    ]);
    child.kill('SIGTERM');
    expect(await ended, output()).to.equal(0);
  }

  for (const [name, variable, started] of [
    ['api', 'PORT', 'the API listens'],
    ['worker', 'METRICS_PORT', 'worker started'],
  ] as const) {
    it(`the entry script of the image gives SIGTERM on to the ${name}, which ends well`, async () => {
      const port = String(await freePort());
      await terminateAfter(started, launch('sh', ['deploy/image/entrypoint.sh', name], { [variable]: port }));
    });

    it(`the entry script of the image starts the ${name} through a link to the checkout`, async () => {
      const link = join(dir, `checkout-${name}`);
      symlinkSync(fileURLToPath(root), link);
      const main = join(link, name === 'api' ? 'dist/api/main.js' : 'dist/activities/main.js');
      const { ended, output } = launch(process.execPath, [main], { MAX_STEPS: 'many' });
      expect(await ended, 'it looks at its settings').to.equal(1);
      expect(output()).to.contain('MAX_STEPS');
    });
  }

  it('the entry script of the image ends a worker that still waits for Temporal', async () => {
    const worker = launch('sh', ['deploy/image/entrypoint.sh', 'worker'], { TEMPORAL_ADDRESS: '127.0.0.1:9' });
    await terminateAfter('Temporal is unreachable', worker);
  });
});

/** Resolves when the process has printed something after which `holds`. */
function printed(child: ChildProcess, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => void (holds() && resolve());
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', look);
    look();
  });
}
