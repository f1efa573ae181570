import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/platform/free-port.js';
import { AgentSessionClient } from '../../client/src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { startFaultSystem, type FaultSystem } from '../../test/support/fault-system.js';
import { steps, toolUse } from '../../test/support/scripted-model.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMAGE = process.env.IMAGE ?? 'agent-session-service:check';
const TURNS = 20;

/**
 * `npm run check -- image`, run by hand: it needs docker, and without a registry root and debootstrap. Builds the image (IMAGE names one
 * that is built), looks at it, and runs API and worker from it as Compose does: read-only, without capabilities.
 */
describe('the image', function () {
  this.timeout(1_800_000);
  let system: FaultSystem;
  const started: string[] = [];

  const docker = (...args: string[]): string =>
    execFileSync('docker', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 2 ** 26,
      env: { ...process.env, DOCKER_BUILDKIT: '1' },
    }).trim();

  before(async () => {
    if (process.env.IMAGE === undefined) {
      const [, base] = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(`${ROOT}Dockerfile`, 'utf8'))!;
      try {
        docker('image', 'inspect', base!);
      } catch {
        try {
          docker('pull', base!);
        } catch {
          const version = execFileSync('npm', ['view', `node@${/:(\d+)/.exec(base!)![1]}`, 'version', '--json'], {
            encoding: 'utf8',
          });
          const versions = [JSON.parse(version) as string | string[]].flat();
          execFileSync('sh', ['deploy/image/base.sh', base!, versions.at(-1)!], { cwd: ROOT, stdio: 'inherit' });
        }
      }
      docker('build', '--network', 'host', '--tag', IMAGE, '.');
    }
    system = await startFaultSystem({ apis: 0, workers: 0 });
  });
  after(async () => {
    for (const name of started) docker('rm', '--force', name);
    await system?.close();
  });

  it('the image runs as 1000:1000 on a read-only root, lists its contents, and has no copyleft package', () => {
    const env = { ...process.env, DOCKER_RUN: '--network host' };
    const out = execFileSync('sh', ['deploy/image/inspect.sh', IMAGE, process.env.SBOM_DIR ?? '/tmp'], {
      cwd: ROOT,
      encoding: 'utf8',
      env,
    });
    console.log(out.replaceAll(/^/gm, '      '));
  });

  /** Starts a role; resolves with its address and the seconds until it was ready. */
  async function start(role: 'api' | 'worker'): Promise<{ url: string; name: string; seconds: number }> {
    const port = await freePort();
    const name = `image-check-${role}-${port}`;
    const settings = {
      ...system.env,
      HOST: '127.0.0.1',
      [role === 'api' ? 'PORT' : 'METRICS_PORT']: String(port),
      SHUTDOWN_DELAY_SECONDS: '1',
    };
    if (role === 'api') settings.METRICS_PORT = '';
    const env = Object.entries(settings).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
    const dir = system.env.DATA_DIR!;
    execFileSync('chown', ['-R', '1000:1000', dir]);
    const began = performance.now();
    started.push(name);
    docker(
      ...[
        'run',
        '--detach',
        '--name',
        name,
        '--network',
        'host',
        '--read-only',
        '--tmpfs',
        '/tmp:size=64m',
        '--cap-drop',
        'ALL',
      ],
      ...['--security-opt', 'no-new-privileges', '--volume', `${dir}:${dir}`, ...env, IMAGE, role],
    );
    const url = `http://127.0.0.1:${port}`;
    await eventually(
      `${role} is ready`,
      () =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      120_000,
    );
    return { url, name, seconds: (performance.now() - began) / 1000 };
  }

  function residentMib(name: string): number {
    const pid = docker('inspect', '--format', '{{.State.Pid}}', name);
    return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024);
  }

  it('the image serves turns as API and worker, and drains at SIGTERM', async () => {
    system.model.on(/^list/, steps(toolUse('list_files', {}), 'Done.'));
    const [api, worker] = [await start('api'), await start('worker')];
    const idle = [residentMib(api.name), residentMib(worker.name)];
    const client = new AgentSessionClient({ baseUrl: api.url, apiKey: system.key });
    const ends = await Promise.all(
      Array.from({ length: TURNS }, async () => {
        const { id } = await client.createSession({ model_id: 'scripted' });
        return (await client.run(id, { content: 'list' })).status;
      }),
    );
    expect(ends).to.deep.equal(ends.map(() => 'completed'));
    const facts = {
      api: { ready_s: api.seconds.toFixed(1), idle_MiB: idle[0], after_turns_MiB: residentMib(api.name) },
      worker: { ready_s: worker.seconds.toFixed(1), idle_MiB: idle[1], after_turns_MiB: residentMib(worker.name) },
    };
    console.log(`      ${JSON.stringify(facts)}`);
    for (const { name } of [api, worker]) {
      docker('stop', '--time', '60', name);
      expect(docker('inspect', '--format', '{{.State.ExitCode}}', name), name).to.equal('0');
    }
  });
});
