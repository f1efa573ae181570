/**
 * `npm run bench:hostile` (Linux): one project attacks `npm start` in every way of bench/hostile/attacks, one after the
 * other, while another project talks. Prints for each the longest time without an answer of /healthz, the memory, and the
 * slowest turn of the other project. Arguments: parts of the names of the attacks to run.
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
import { Watch } from './watch.js';

const ATTACK_TIMEOUT_MS = 180_000;
/** Time until memory must be back. */
const REST_MS = Number(process.env.REST_MS ?? 60_000);
const root = fileURLToPath(new URL('../..', import.meta.url));

const attacker = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)));
// The attacker's own work would be done on other machines: it gets the time that the service leaves.
setPriority(attacker.pid!, constants.priority.PRIORITY_LOW);
const [{ host }] = (await once(attacker, 'message')) as [{ host: string }];
const dataDir = mkdtempSync(join(tmpdir(), 'bench-hostile-'));
const env = { ...process.env, DATA_DIR: dataDir, MCP_ALLOWED_HOSTS: host };
const service = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
try {
  await run(await addressOf(service));
} finally {
  process.kill(-service.pid!, 'SIGINT');
  await once(service, 'exit');
  attacker.kill();
  rmSync(dataDir, { recursive: true, force: true });
}
process.exit(0);

async function run(url: string): Promise<void> {
  const [hostile, normal] = [newKey('hostile'), newKey('normal')];
  const call = callerOf({ url }, normal);
  const pid = await serving(url);
  const turn = async (): Promise<number> => {
    const started = performance.now();
    await runTurn(call, await newSession(call, { model_id: 'local-rules' }));
    return performance.now() - started;
  };
  for (let n = 0; n < 20; n += 1) await turn();
  console.log('attack'.padEnd(44), 'healthz', 'rss before/most/after', 'slowest turn', 'outcome');
  const wanted = process.argv.slice(2);
  for (const name of Object.keys(ATTACKS)) {
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
    const before = memoryOf(pid, 'VmRSS');
    const watch = new Watch(url, pid);
    const turns: number[] = [];
    attacker.send({ name, url, key: hostile });
    let outcome: string | undefined;
    const ended = once(attacker, 'message').then(([message]) => (outcome = (message as { outcome: string }).outcome));
    void pause(ATTACK_TIMEOUT_MS).then(() => (outcome ??= 'still going'));
    do turns.push(await turn().catch(() => Number.POSITIVE_INFINITY));
    while (outcome === undefined);
    await Promise.race([ended, pause(0)]);
    const { gapMs, most } = watch.stop();
    await pause(REST_MS);
    const after = memoryOf(pid, 'VmRSS');
    const figures = [`${gapMs.toFixed(0)} ms`, `${before}/${most}/${after} MiB`, `${Math.max(...turns).toFixed(0)} ms`];
    console.log(name.padEnd(44), figures.join('  '), outcome, (await serving(url)) === pid ? '' : 'ANOTHER PROCESS');
  }
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
async function serving(url: string): Promise<number> {
  const out = execFileSync('sh', ['-c', `ss -ltnpH "sport = :${new URL(url).port}"`], { encoding: 'utf8' });
  const [, pid] = /pid=(\d+)/.exec(out) ?? [];
  if (pid === undefined) throw new Error(`nothing listens at ${url}`);
  return Number(pid);
}
