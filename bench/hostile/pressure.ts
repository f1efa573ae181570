/**
 * Measures hostile use (Linux): `npx tsx bench/hostile/pressure.ts worker|api|neighbour`, after `npm run build`.
 * worker: 100 turns with 13 MB of images each on a worker with 1 GiB. api: lists, probes, uploads and 1,000 streams on an
 * API with 512 MiB. neighbour: one project does all of it for SECONDS (300) next to one that talks normally.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { RoleProcess } from '../../test/support/role-process.js';
import { openSse } from '../../test/support/sse-reader.js';
import type { Attack } from '../support/attacker.js';
import { imageTurns, pressApi, tally } from '../support/attacks.js';
import { callerOf, newSession, withHostileSystem, withMemoryOf } from '../support/hostile-system.js';
import { median, quantile } from '../support/run.js';

const TURNS = Number(process.env.TURNS ?? 100);
const STREAMS = Number(process.env.STREAMS ?? 1000);
const SECONDS = Number(process.env.SECONDS ?? 300);
/** Requests per minute of a project and operation; 60 is what ships. */
const RATE_LIMIT = process.env.RATE_LIMIT ?? '60';

/** Heaps within limits of 512 MiB and 1 GiB. */
const HEAPS = { apiHeapMib: 320, workerHeapMib: 640 };
/** A message whose first fragment has not come after this time has failed. */
const TOKEN_MS = 60_000;
/** Between two messages of the normal project, which stays below the shipped rate limit. */
const PAUSE_MS = 1100;

/** Time from a message to its first fragment, in ms. */
async function firstToken(api: RoleProcess, key: string): Promise<number> {
  const call = callerOf(api, key);
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
  return `first token p50 ${median(times).toFixed(0)} ms, p95 ${quantile(times, 0.95).toFixed(0)} ms over ${times.length} turns${failed}`;
}

async function neighbour(): Promise<void> {
  const attacker = fork(fileURLToPath(new URL('../support/attacker.ts', import.meta.url)));
  // The attacker's own work would be done on other machines: it gets the time that the service leaves.
  setPriority(attacker.pid!, constants.priority.PRIORITY_LOW);
  const [{ modelUrl, mcpHost }] = (await once(attacker, 'message')) as [{ modelUrl: string; mcpHost: string }];
  await withHostileSystem(
    { ...HEAPS, modelUrl, mcpHost, env: { RATE_LIMIT_PER_MINUTE: RATE_LIMIT } },
    async (system) => {
      const [api] = system.apis;
      const [hostile, normal] = await Promise.all([system.newKey('hostile'), system.newKey('normal')]);
      await firstTokens(api!, normal, 5);
      console.log('quiet:   ', await firstTokens(api!, normal, Math.min(30, SECONDS)));
      attacker.send({ url: api!.url, key: hostile, seconds: SECONDS } satisfies Attack);
      const done = once(attacker, 'message');
      console.log('attacked:', await firstTokens(api!, normal, SECONDS));
      console.log('answers to the attacker:', (await done)[0]);
      console.log('quiet:   ', await firstTokens(api!, normal, Math.min(30, SECONDS)));
      for (const each of [...system.apis, ...system.workers]) console.log(each.role, each.log().slice(-2000));
    },
  );
}

const scenarios: Record<string, () => Promise<void>> = {
  worker: () =>
    withHostileSystem(HEAPS, (system) =>
      withMemoryOf('worker', system.workers[0]!, async () => {
        console.log(tally(await imageTurns(callerOf(system.apis[0]!, system.key), TURNS)));
      }),
    ),
  api: () =>
    withHostileSystem(HEAPS, (system) => {
      const [api] = system.apis;
      const options = { url: api!.url, key: system.key, mcpUrl: system.mcp.url, streams: STREAMS };
      return withMemoryOf('API', api!, async () =>
        console.log(tally(await pressApi(callerOf(api!, system.key), options))),
      );
    }),
  neighbour,
};

const scenario = scenarios[process.argv[2] ?? ''];
if (scenario === undefined) throw new Error(`Name one of: ${Object.keys(scenarios).join(', ')}.`);
await scenario();
process.exit(0);
