import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FaultSystem } from '../../test/support/fault-system.js';
import type { RoleProcess } from '../../test/support/role-process.js';
import { startSinkModel } from '../../test/support/sink-model.js';
import { openSse } from '../../test/support/sse-reader.js';
import type { Bench } from '../bench.js';
import { callOf, imageTurns, pressApi, tally } from '../hostile/attacks.js';
import { newSession } from '../hostile/project.js';
import { memoryOf, pause, shown, timed } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';
import { startAttacker } from './hostile.js';

/** Heaps within limits of 512 MiB and 1 GiB. */
const HEAPS = { api: 320, worker: 640 };
const REST_MS = 10_000;
/** A message whose first fragment has not come after this time has failed. */
const TOKEN_MS = 60_000;
/** Between two messages of the normal project, which stays below the shipped rate limit. */
const PAUSE_MS = 1100;

/** Time from a message to its first fragment, in ms. */
async function firstToken(api: RoleProcess, key: string): Promise<number> {
  const call = callOf({ url: api.url, key });
  const session = await newSession(call, { model_id: 'scripted' });
  const stream = await openSse(`${api.url}/v1/sessions/${session}/events/stream`, key);
  const tooLate = setTimeout(() => stream.close(), TOKEN_MS);
  try {
    const started = performance.now();
    const { status } = await call('POST', `/v1/sessions/${session}/messages`, { content: 'Hello' });
    if (stream.status !== 200 || status !== 201) throw new Error(`stream ${stream.status}, message ${status}`);
    // A process that was held up sends the message alone: its deltas are over.
    const first = await stream.until(({ event }) => event.startsWith('agent.message'));
    await stream.ended;
    return first.at - started;
  } finally {
    clearTimeout(tooLate);
    stream.close();
  }
}

async function firstTokens(api: RoleProcess, key: string, seconds: number): Promise<string> {
  const times: number[] = [];
  const failures: string[] = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await firstToken(api, key).then(
      (ms) => times.push(ms),
      (error: unknown) => failures.push(String(error)),
    );
    await pause(PAUSE_MS);
  }
  const failed = failures.length === 0 ? '' : `; ${JSON.stringify(tally(failures))}`;
  return `${shown(times)} over ${times.length} turns${failed}`;
}

export default scenario({
  measures:
    'memory under hostile use: --part worker (turns with images), api (lists, probes, uploads, streams), neighbour (the first token of another project meanwhile; --rate as shipped: 60)',
  options: { part: 'neighbour', turns: 100, streams: 1000, seconds: 300, rate: 60 },
  async run(bench, { part, turns, streams, seconds, rate }) {
    if (part === 'worker') {
      const { workers, apis, key } = await startSystem(bench);
      await printMemory(workers[0]!, () => imageTurns(callOf({ url: apis[0]!.url, key }), turns));
    } else if (part === 'api') {
      const { apis, key, mcp } = await startSystem(bench);
      const attacker = { url: apis[0]!.url, key, mcpUrl: () => mcp.url };
      await printMemory(apis[0]!, () => pressApi(callOf(attacker), attacker, streams));
    } else {
      const attacker = await startAttacker(bench);
      const env = { RATE_LIMIT_PER_MINUTE: String(rate) };
      const system = await startSystem(bench, { ...attacker, env });
      const api = system.apis[0]!;
      const [hostile, normal] = await Promise.all([system.newKey('hostile'), system.newKey('normal')]);
      await firstTokens(api, normal, 5);
      row('first token, quiet', await firstTokens(api, normal, Math.min(30, seconds)));
      const attack = attacker.attack({ url: api.url, key: hostile, seconds });
      row('first token, attacked', await firstTokens(api, normal, seconds));
      row('answers to the attacker', await attack);
      row('first token, quiet', await firstTokens(api, normal, Math.min(30, seconds)));
      for (const each of [...system.apis, ...system.workers]) console.log(each.role, each.log().slice(-2000));
    }
  },
});

/** An API and a worker with memory limits, and the model `sink`, which answers every request. */
async function startSystem(
  bench: Bench,
  { modelUrl, mcpHost, env }: { modelUrl?: string; mcpHost?: string; env?: Record<string, string> } = {},
): Promise<FaultSystem> {
  const model = await startSinkModel();
  bench.atEnd(() => model.close());
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  bench.atEnd(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'models.json');
  const sizes = { context_window: 200_000, max_output_tokens: 8_000, supports_thinking: false };
  const entries = Object.entries({ sink: modelUrl ?? model.url, scripted: model.url });
  const models = entries.map(([id, url]) => ({ id, display_name: id, model: id, base_url: url, ...sizes }));
  writeFileSync(file, JSON.stringify(models));
  const system = await bench.system({
    apis: 0,
    workers: 0,
    env: { MODELS_FILE: file, MEDIA_BUDGET_MB: '128', ...env },
    allowedHosts: mcpHost === undefined ? [] : [mcpHost],
  });
  for (const role of ['api', 'worker'] as const)
    await system.addRole(role, { NODE_OPTIONS: `--max-old-space-size=${HEAPS[role]}` });
  return system;
}

/** Prints a process's memory: before `work`, its maximum during `work`, and ten seconds later; and each answer's count. */
async function printMemory({ role, pid }: RoleProcess, work: () => Promise<string[]>): Promise<void> {
  const before = memoryOf(pid, 'VmRSS');
  let answers: string[] = [];
  const ms = await timed(async () => (answers = await work()));
  console.log(tally(answers));
  await pause(REST_MS);
  const [most, after] = [memoryOf(pid, 'VmHWM'), memoryOf(pid, 'VmRSS')];
  row(`${role}, ${(ms / 1000).toFixed(1)} s`, `${before} MiB before, ${most} at most, ${after} ten seconds after`);
}
