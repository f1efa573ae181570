/**
 * `npm run bench:hostile` (Linux): one project attacks `npm start` in every way of bench/hostile/attacks, one after the
 * other, while another project talks. Prints for each the longest time without an answer of /healthz, the memory, the
 * slowest turn of the other project, and whether that is too much (bench/hostile/report). Fails if one is. Arguments: parts
 * of the names of the attacks to run.
 */
import { execFileSync, fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { memoryOf } from '../../test/support/memory.js';
import { callerOf, newSession, runTurn } from '../support/hostile-system.js';
import { ATTACKS } from './attacks.js';
import { failuresOf, tableOf, type Cost } from './report.js';
import { Watch } from './watch.js';

const ATTACK_TIMEOUT_MS = 180_000;
/** Time until memory must be back. */
const REST_MS = Number(process.env.REST_MS ?? 60_000);
const WARM_UP_TURNS = 20;
const QUIET_TURNS = 20;
const root = fileURLToPath(new URL('../..', import.meta.url));

const attacker = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)));
// The attacker's own work would be done on other machines: it gets the time that the service leaves.
setPriority(attacker.pid!, constants.priority.PRIORITY_LOW);
const [{ host }] = (await once(attacker, 'message')) as [{ host: string }];
const dataDir = mkdtempSync(join(tmpdir(), 'bench-hostile-'));
const env = { ...process.env, DATA_DIR: dataDir, MCP_ALLOWED_HOSTS: host };
const service = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
let failed: Cost[];
try {
  failed = await run(await addressOf(service));
} finally {
  process.kill(-service.pid!, 'SIGINT');
  await once(service, 'exit');
  attacker.kill();
  rmSync(dataDir, { recursive: true, force: true });
}
process.exit(failed.length === 0 ? 0 : 1);

async function run(url: string): Promise<Cost[]> {
  const [hostile, normal] = [newKey('hostile'), newKey('normal')];
  const call = callerOf({ url }, normal);
  const pid = serving(url);
  const turn = async (): Promise<number> => {
    const started = performance.now();
    const status = await runTurn(call, await newSession(call, { model_id: 'local-rules' })).catch(() => 'no answer');
    return status === 'COMPLETE' ? performance.now() - started : Number.POSITIVE_INFINITY;
  };
  for (let n = 0; n < WARM_UP_TURNS; n += 1) await turn();
  let quietMs = 0;
  for (let n = 0; n < QUIET_TURNS; n += 1) quietMs = Math.max(quietMs, await turn());
  const wanted = process.argv.slice(2);
  const costs: Cost[] = [];
  for (const name of Object.keys(ATTACKS)) {
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
    const processes = processesOf(pid);
    const before = memoryOf(pid, 'VmRSS');
    const watch = new Watch(url, pid);
    let turnMs = 0;
    attacker.send({ name, url, key: hostile });
    let outcome: string | undefined;
    const ended = once(attacker, 'message').then(([message]) => (outcome = (message as { outcome: string }).outcome));
    void pause(ATTACK_TIMEOUT_MS).then(() => (outcome ??= 'still going'));
    do turnMs = Math.max(turnMs, await turn());
    while (outcome === undefined);
    await Promise.race([ended, pause(0)]);
    const { gapMs, most } = watch.stop();
    await pause(REST_MS);
    const isSame = serving(url) === pid && processesOf(pid) === processes;
    const cost = {
      name,
      outcome,
      gapMs,
      before,
      most,
      after: memoryOf(pid, 'VmRSS'),
      turnMs,
      areSameProcesses: isSame,
    };
    costs.push(cost);
    console.log(tableOf([cost], quietMs));
  }
  console.log(`\n${tableOf(costs, quietMs)}`);
  return costs.filter((cost) => failuresOf(cost, quietMs).length > 0);
}

function addressOf({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    stdout!.on('data', (chunk) => {
      text += String(chunk);
      const [, url] = /API\s+(http\S+)/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
    stdout!.on('end', () => reject(new Error(`npm start printed no address: ${text}`)));
  });
}

function newKey(project: string): string {
  const args = ['run', '--silent', 'keys', '--', 'create', '--project', project, '--scopes', 'all'];
  return execFileSync('npm', args, { cwd: root, env, encoding: 'utf8' }).trim();
}

/** The process that listens on the service's port. */
function serving(url: string): number {
  const out = execFileSync('sh', ['-c', `ss -ltnpH "sport = :${new URL(url).port}"`], { encoding: 'utf8' });
  const [, pid] = /pid=(\d+)/.exec(out) ?? [];
  if (pid === undefined) throw new Error(`nothing listens at ${url}`);
  return Number(pid);
}

/** The service's own servers: Postgres and Temporal. */
function processesOf(pid: number): string {
  return execFileSync('ps', ['--ppid', String(pid), '-o', 'pid=,comm='], { encoding: 'utf8' });
}
