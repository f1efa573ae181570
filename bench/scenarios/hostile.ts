import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ATTACKS, callOf } from '../hostile/attacks.js';
import { makeStateDir } from '../../test/support/state-dir.js';
import type { Bench } from '../bench.js';
import type { Order } from '../hostile/attacker.js';
import { newSession, runTurn } from '../hostile/project.js';
import { memoryOf, pause, timed, watchMemory } from '../measure.js';
import { scenario } from '../scenario.js';
import { outputOf } from '../sides/child.js';
import { tableOf } from '../table.js';

const ATTACK_TIMEOUT_MS = 180_000;
const HEALTH_INTERVAL_MS = 20;
const WARM_UP_TURNS = 20;
const QUIET_TURNS = 20;
const root = fileURLToPath(new URL('../..', import.meta.url));

/** What an attack may cost: the longest time without an answer, memory in MiB, and another project's turn against a quiet one. */
const MAX_GAP_MS = 1000;
const MAX_PEAK_MIB = 1024;
const MAX_KEPT_MIB = 100;
const MAX_TURN_RATIO = 2;

/** What an attack cost. */
interface Cost {
  name: string;
  /** How the attack itself ended. */
  outcome: string;
  gapMs: number;
  /** Resident memory of the service in MiB: before the attack, at most, and after the rest. */
  before: number;
  most: number;
  after: number;
  /** The slowest turn of another project; infinite if one did not complete. */
  turnMs: number;
  areSameProcesses: boolean;
}

/** Names what was too much; an empty list if the attack came to nothing. */
function failuresOf(cost: Cost, quietMs: number): string[] {
  const { gapMs, before, most, after, turnMs, areSameProcesses } = cost;
  return [
    ...(gapMs < MAX_GAP_MS ? [] : ['gap']),
    ...(most < MAX_PEAK_MIB ? [] : ['peak']),
    ...(after - before < MAX_KEPT_MIB ? [] : ['kept memory']),
    ...(turnMs < MAX_TURN_RATIO * quietMs ? [] : ['turn']),
    ...(areSameProcesses ? [] : ['another process']),
  ];
}

/** Starts the attacker; its work would be done on other machines, so it gets the time that the service leaves. */
export async function startAttacker(bench: Bench) {
  const process = fork(fileURLToPath(new URL('../hostile/attacker.ts', import.meta.url)));
  bench.atEnd(() => process.kill());
  setPriority(process.pid!, constants.priority.PRIORITY_LOW);
  const [servers] = (await once(process, 'message')) as [{ mcpHost: string; modelUrl: string }];
  return {
    ...servers,
    async attack(order: Order): Promise<string> {
      process.send(order);
      const [{ outcome }] = (await once(process, 'message')) as [{ outcome: string }];
      return outcome;
    },
    /** Ends the attacks of a mix after their rounds. */
    stop: () => process.send('stop'),
  };
}

/**
 * One project attacks in every way of bench/hostile/attacks, one after the other, while another project talks. Each line has
 * the longest time without an answer of /healthz, the memory, the slowest turn of the other project, and a verdict.
 */
export default scenario({
  measures:
    '`npm start` under attacks of one project (--only: those with this text in their names), and what another one notices; fails if that is too much. Linux; --rest: seconds until memory must be back',
  options: { only: '', rest: 60 },
  async run(bench, { only, rest }) {
    const attacks = Object.keys(ATTACKS).filter((each) => each.includes(only));
    if (attacks.length === 0) throw new Error(`No attack has ${only} in its name:\n${Object.keys(ATTACKS).join('\n')}`);
    const attacker = await startAttacker(bench);
    const { url, newKey } = await startService(bench, { MCP_ALLOWED_HOSTS: attacker.mcpHost });
    const key = newKey('hostile');
    const call = callOf({ url, key: newKey('normal') });
    const pid = serving(url);
    const turn = async (): Promise<number> => {
      let status = '';
      const ms = await timed(async () => {
        status = await runTurn(call, await newSession(call, { model_id: 'local-rules' })).catch(() => 'no answer');
      });
      return status === 'COMPLETE' ? ms : Number.POSITIVE_INFINITY;
    };
    for (let n = 0; n < WARM_UP_TURNS; n += 1) await turn();
    let quietMs = 0;
    for (let n = 0; n < QUIET_TURNS; n += 1) quietMs = Math.max(quietMs, await turn());
    const costs: Cost[] = [];
    for (const name of attacks) {
      const processes = processesOf(pid);
      const memory = watchMemory(pid);
      const health = watchHealth(url);
      let turnMs = 0;
      let outcome: string | undefined;
      void attacker.attack({ name, url, key }).then((how) => (outcome = how));
      const giveUp = setTimeout(() => (outcome ??= 'still going'), ATTACK_TIMEOUT_MS);
      for (; outcome === undefined;) turnMs = Math.max(turnMs, await turn());
      clearTimeout(giveUp);
      const gapMs = health.stop();
      const { before, most } = memory.stop();
      await pause(rest * 1000);
      const areSameProcesses = serving(url) === pid && processesOf(pid) === processes;
      const after = memoryOf(pid, 'VmRSS');
      costs.push({ name, outcome, gapMs, before, most, after, turnMs, areSameProcesses });
      print(costs.slice(-1), quietMs);
    }
    console.log('');
    print(costs, quietMs);
    if (costs.some((cost) => failuresOf(cost, quietMs).length > 0)) process.exitCode = 1;
  },
});

/** `quietMs`: the slowest turn without an attack. */
function print(costs: Cost[], quietMs: number): void {
  const header = 'attack,/healthz,before,peak,after,turn,usual,same processes,verdict,attacker'.split(',');
  const rows = costs.map((cost) => {
    const { name, gapMs, before, most, after, turnMs, areSameProcesses, outcome } = cost;
    const failures = failuresOf(cost, quietMs);
    const [gap, turn, usual] = [gapMs, turnMs, quietMs].map((ms) => `${ms.toFixed(0)} ms`) as [string, string, string];
    const verdict = failures.length === 0 ? 'pass' : `FAIL: ${failures.join(', ')}`;
    const memory = [before, most, after].map((mib) => `${mib} MiB`);
    return [name, gap, ...memory, turn, usual, areSameProcesses ? 'yes' : 'NO', verdict, outcome];
  });
  console.log(tableOf([header, ...rows]));
}

/** Asks /healthz over and over; `stop` returns the longest wait for an answer, infinite if one was missing. */
function watchHealth(url: string): { stop(): number } {
  let gapMs = 0;
  let isOver = false;
  const isWell = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      async (response) => (await response.arrayBuffer(), response.ok),
      () => false,
    );
  void (async () => {
    while (!isOver) {
      const began = performance.now();
      gapMs = Math.max(gapMs, (await isWell()) ? performance.now() - began : Number.POSITIVE_INFINITY);
      await pause(HEALTH_INTERVAL_MS);
    }
  })();
  return { stop: () => ((isOver = true), gapMs) };
}

/** `npm start` with a state of its own, and its commands. */
export async function startService(bench: Bench, settings: Record<string, string>) {
  const dataDir = makeStateDir();
  const env = { ...process.env, DATA_DIR: dataDir, ...settings };
  const service = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  bench.atEnd(async () => {
    process.kill(-service.pid!, 'SIGINT');
    await once(service, 'exit');
  });
  const keys = (...args: string[]): string =>
    execFileSync('npm', ['run', '--silent', 'keys', '--', ...args], { cwd: root, env, encoding: 'utf8' }).trim();
  const newKey = (project: string): string => keys('create', '--project', project, '--scopes', 'all');
  const [, url = ''] = await outputOf(service, /API\s+(http\S+)/);
  return { url, dataDir, keys, newKey };
}

/** The process that listens on the service's port. */
export function serving(url: string): number {
  const out = execFileSync('sh', ['-c', `ss -ltnpH "sport = :${new URL(url).port}"`], { encoding: 'utf8' });
  const [, pid] = /pid=(\d+)/.exec(out) ?? [];
  if (pid === undefined) throw new Error(`nothing listens at ${url}`);
  return Number(pid);
}

/** The processes beside it that `npm start` runs, Postgres and Temporal among them. */
function processesOf(pid: number): string {
  const ps = (...args: string[]): string => execFileSync('ps', args, { encoding: 'utf8' });
  return ps('--ppid', ps('-o', 'ppid=', '-p', String(pid)).trim(), '-o', 'pid=,comm=');
}
