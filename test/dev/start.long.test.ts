import { expect } from 'chai';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { processIdentity } from '#dev/processes.mjs';
import { eventually } from '../support/eventually.js';
import { makeStateDir } from '../support/state-dir.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const START = join(root, 'dev', 'start.mjs');
const OPS = join(root, 'dev', 'ops.mjs');

/** What a developer has who typed `npm start`. */
interface Running {
  child: ChildProcess;
  output: () => string;
  base: string;
  key: string;
}

interface Answer {
  id?: string;
  status?: string;
  turn_id?: string;
}

const running = new Set<ChildProcess>();

function environment(dataDir: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { PATH, HOME, XDG_CACHE_HOME, TMPDIR } = process.env;
  return { PATH, HOME, XDG_CACHE_HOME, TMPDIR, DATA_DIR: dataDir, ...more };
}

function launch(dataDir: string, more?: NodeJS.ProcessEnv): Pick<Running, 'child' | 'output'> {
  const child = spawn(process.execPath, [START], { cwd: root, env: environment(dataDir, more), detached: true });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  return { child, output: () => output };
}

async function start(dataDir: string): Promise<Running> {
  const { child, output } = launch(dataDir);
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(50)) {
    const [, base, key] = /API +(\S+)\s+Demo key +(\S+)[^]*Ctrl-C/.exec(output()) ?? [];
    if (base !== undefined && key !== undefined) return { child, output, base, key };
    if (child.exitCode !== null || child.signalCode !== null) break;
  }
  throw new Error(`it did not come up:\n${output()}`);
}

/** Ends it the given way; resolves with the exit code and how long that took. */
async function end(child: ChildProcess, send: () => void): Promise<{ code: number | null; ms: number }> {
  const started = Date.now();
  const closed = once(child, 'close');
  send();
  await closed;
  return { code: child.exitCode, ms: Date.now() - started };
}

function serverPids(dataDir: string): { postgres: number; temporal: number; service: number } {
  const pidOf = (name: string): number =>
    (JSON.parse(readFileSync(join(dataDir, `${name}.pid`), 'utf8')) as { pid: number }).pid;
  return { postgres: pidOf('postgres'), temporal: pidOf('temporal'), service: pidOf('service') };
}

async function call(
  { base, key }: { base: string; key: string },
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: Answer }> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${base}/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer };
}

async function workflowStatus(dataDir: string, workflowId: string): Promise<string> {
  const { port } = JSON.parse(readFileSync(join(dataDir, 'temporal.json'), 'utf8')) as { port: number };
  const connection = await Connection.connect({ address: `127.0.0.1:${port}` });
  const { status } = await new Client({ connection }).workflow.getHandle(workflowId).describe();
  await connection.close();
  return status.name;
}

async function createKey(dataDir: string): Promise<string> {
  const args = [OPS, 'keys', 'create', '--project', 'demo'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env: environment(dataDir) });
  return stdout;
}

/** What `npm run doctor` prints, whatever it finds. */
async function doctor(dataDir: string): Promise<string> {
  const ran = promisify(execFile)(process.execPath, [OPS, 'doctor'], { cwd: root, env: environment(dataDir) });
  return (await ran.catch((error: { stdout: string }) => error)).stdout;
}

describe('npm start', () => {
  const dataDir = makeStateDir();
  let session: string;
  let turn: string;
  /** Servers of a service that was killed. */
  let orphans: ReturnType<typeof serverPids>;

  after(() => running.forEach((child) => child.kill('SIGKILL')));

  it('npm start starts everything, once per DATA_DIR, and stops it on SIGTERM', async () => {
    const service = await start(dataDir);
    const created = await call(service, 'POST', '/sessions', { model_id: 'local-rules' });
    expect(created.status).to.equal(201);
    session = created.body.id!;

    const second = launch(dataDir);
    await once(second.child, 'close');
    expect(second.child.exitCode).to.equal(1);
    expect(second.output()).to.include(`already runs on ${dataDir}`).and.include(String(service.child.pid));

    expect(await doctor(dataDir))
      .to.include('model local-rules')
      .and.include('Everything answers.')
      .and.not.include('does not run');
    expect(await doctor(join(dataDir, 'none'))).to.include(`npm start does not run on ${join(dataDir, 'none')}`);

    const [, address] = /Temporal +(127\.0\.0\.1:\d+) \(run by .+\)$/m.exec(service.output()) ?? [];
    expect(readFileSync(join(dataDir, 'temporal.toml'), 'utf8')).to.contain(`address = "${address}"`);
    const [, listTurns] = /(TEMPORAL_CONFIG_FILE=.* workflow list)$/m.exec(service.output()) ?? [];
    await promisify(execFile)('sh', ['-c', listTurns!], { cwd: root, env: environment(dataDir) });
    const { port: postgresPort } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as { port: number };
    expect(service.output()).to.contain(`postgres://postgres@127.0.0.1:${postgresPort}/agent_sessions`);

    const key = await createKey(dataDir);
    expect(key).to.match(/^\S+\n$/);
    expect((await call({ ...service, key: key.trim() }, 'GET', `/sessions/${session}`)).status).to.equal(200);

    const pids = serverPids(dataDir);
    const { code, ms } = await end(service.child, () => service.child.kill('SIGTERM'));
    expect(code, service.output()).to.equal(0);
    expect(ms).to.be.below(10_000);
    expect(Object.values(pids).map(processIdentity)).to.deep.equal([null, null, null]);
  });

  it('npm start lends its database to the commands of operators while it does not run', async () => {
    expect(await createKey(dataDir)).to.match(/^\S+\n$/);
    expect(await doctor(dataDir))
      .to.match(/^npm start does not run on/)
      .and.match(/^ok +schema/m);
  });

  it('npm start restarts with the same data, and stops on a repeated Ctrl-C', async () => {
    const service = await start(dataDir);
    expect((await call(service, 'GET', `/sessions/${session}`)).status).to.equal(200);
    const group = -service.child.pid!;
    const { code } = await end(service.child, () => {
      process.kill(group, 'SIGINT');
      setTimeout(() => process.kill(group, 'SIGINT'), 100);
    });
    expect(code, service.output()).to.equal(0);
  });

  it('npm start restarts API and worker, and servers, that were killed', async () => {
    const service = await start(dataDir);
    const { postgres, temporal, service: apiAndWorker } = serverPids(dataDir);
    process.kill(apiAndWorker, 'SIGKILL');
    await eventually('they are restarted', () => serverPids(dataDir).service !== apiAndWorker);
    await eventually('the API answers again', async () => {
      const answer = await call(service, 'GET', `/sessions/${session}`).catch(() => null);
      return answer?.status === 200;
    });
    expect(service.output()).to.include('The service ended unexpectedly (SIGKILL); restarting it.');
    process.kill(postgres, 'SIGKILL');
    process.kill(temporal, 'SIGKILL');
    await eventually('the session can be read again', async () => {
      const answer = await call(service, 'GET', `/sessions/${session}`);
      return answer.status === 200 && serverPids(dataDir).temporal !== temporal;
    });

    const message = await call(service, 'POST', `/sessions/${session}/messages`, { content: 'write 200 words' });
    turn = message.body.turn_id!;
    await eventually(
      'the turn runs',
      async () => (await call(service, 'GET', `/sessions/${session}`)).body.status === 'RUNNING',
    );
    orphans = serverPids(dataDir);
    // Its guard as well, so that only the next start can end the servers.
    const search = ['-P', String(service.child.pid), '-f', 'guard.mjs'];
    process.kill(Number((await promisify(execFile)('pgrep', search)).stdout), 'SIGKILL');
    await end(service.child, () => service.child.kill('SIGKILL'));
  });

  it('npm start starts after kill -9 of it and its guard, ends the servers left behind, and finishes the interrupted turn', async () => {
    const { postgres, temporal } = orphans;
    expect([processIdentity(postgres), processIdentity(temporal)]).not.to.include(null);
    const service = await start(dataDir);
    expect(Object.values(orphans).map(processIdentity)).to.deep.equal([null, null, null]);
    // The model's activity is given to somebody else when its heartbeat has been missing for 10 s.
    await eventually(
      'the cut turn ends',
      async () => (await call(service, 'GET', `/sessions/${session}`)).body.status === 'COMPLETE',
      40_000,
    );
    // The workflow ends a moment after its activity has committed the end of the turn.
    await eventually('its workflow completes', async () => (await workflowStatus(dataDir, turn)) === 'COMPLETED');

    const left = serverPids(dataDir);
    service.child.kill('SIGKILL');
    await eventually('no server is left behind', () =>
      Object.values(left).every((pid) => processIdentity(pid) === null),
    );
  });

  it('npm start refuses a port that is taken', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const port = (blocker.address() as AddressInfo).port;
    const { child, output } = launch(dataDir, { PORT: String(port) });
    await once(child, 'close');
    expect(child.exitCode).to.equal(1);
    expect(output()).to.include(`Port ${port} is taken`);
    blocker.close();
  });
});
