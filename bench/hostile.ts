/**
 * Measures hostile use (Linux): `npx tsx bench/hostile.ts worker|api|neighbour`, after `npm run build`.
 * worker: 100 turns with 13 MB of images each on a worker with 1 GiB. api: lists, probes, uploads and 1,000 streams on an
 * API with 512 MiB. neighbour: one project does all of it for SECONDS (300) next to one that talks normally.
 */
import { openSse } from '../test/support/sse-reader.js';
import type { FaultSystem } from '../test/support/fault-system.js';
import {
  callerOf,
  MIB,
  newSession,
  runTurn,
  uploadImages,
  withHostileSystem,
  withMemoryOf,
  type Caller,
} from './support/hostile-system.js';

const TURNS = Number(process.env.TURNS ?? 100);
const STREAMS = Number(process.env.STREAMS ?? 1000);
const SECONDS = Number(process.env.SECONDS ?? 300);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function imageTurns(call: Caller, count: number): Promise<Record<string, number>> {
  const files = await uploadImages(call);
  const sessions = await Promise.all(Array.from({ length: count }, () => newSession(call)));
  const ends = await Promise.all(sessions.map((session) => runTurn(call, session, files)));
  return tally(ends);
}

function tally(values: (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

async function upload(call: Caller, bytes: number): Promise<number> {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes)]), 'large.bin');
  return (await call('POST', '/v1/files', form)).status;
}

/** Lists of long sessions, probes, readiness, uploads and streams at once. */
async function pressApi(system: FaultSystem, key: string, streams: number): Promise<Record<string, number>> {
  const api = system.apis[0]!;
  const call = callerOf(api, key);
  const server = await call('POST', '/v1/mcp-servers', { name: `s${Date.now()}`, url: system.mcp.url });
  await Promise.all(Array.from({ length: 100 }, () => newSession(call, { instruction: 'x'.repeat(100_000) })));
  const session = await newSession(call);
  const open = await Promise.all(
    Array.from({ length: streams }, () => openSse(`${api.url}/v1/sessions/${session}/events/stream`, key)),
  );
  const work: Promise<number>[] = [];
  for (let round = 0; round < 20; round += 1) {
    work.push(call('GET', '/v1/sessions?limit=100').then(({ status }) => status));
    work.push(call('POST', `/v1/mcp-servers/${server.body.id}/probe`).then(({ status }) => status));
    work.push(fetch(`${api.url}/readyz`).then(({ status }) => status));
    work.push(upload(call, 20 * MIB));
    await pause(50);
  }
  const statuses = await Promise.all(work);
  for (const stream of open) stream.close();
  return tally(statuses);
}

/** Time from a message to its first fragment, in ms. */
async function firstToken(system: FaultSystem, key: string): Promise<number> {
  const api = system.apis[0]!;
  const call = callerOf(api, key);
  const session = await newSession(call);
  const stream = await openSse(`${api.url}/v1/sessions/${session}/events/stream`, key);
  const started = performance.now();
  await call('POST', `/v1/sessions/${session}/messages`, { content: 'Hello' });
  while (!stream.frames.some(({ event }) => event === 'agent.message.delta')) await pause(2);
  const ms = performance.now() - started;
  await stream.ended;
  return ms;
}

async function firstTokens(system: FaultSystem, key: string, untilMs: number): Promise<string> {
  const times: number[] = [];
  while (performance.now() < untilMs) {
    times.push(await firstToken(system, key));
    await pause(500);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string => times[Math.floor((times.length - 1) * share)]!.toFixed(0);
  return `first token p50 ${at(0.5)} ms, p95 ${at(0.95)} ms over ${times.length} turns`;
}

const scenarios: Record<string, (system: FaultSystem) => Promise<void>> = {
  worker: (system) =>
    withMemoryOf('worker', system.workers[0]!, async () => {
      console.log(await imageTurns(callerOf(system.apis[0]!, system.key), TURNS));
    }),
  api: (system) =>
    withMemoryOf('API', system.apis[0]!, async () => console.log(await pressApi(system, system.key, STREAMS))),
  async neighbour(system) {
    const [hostile, normal] = await Promise.all([system.newKey('hostile'), system.newKey('normal')]);
    console.log('quiet:   ', await firstTokens(system, normal, performance.now() + Math.min(30, SECONDS) * 1000));
    const until = performance.now() + SECONDS * 1000;
    const attack = async (work: () => Promise<unknown>): Promise<void> => {
      while (performance.now() < until) await work().catch(() => pause(100));
    };
    const attacks = [
      attack(() => imageTurns(callerOf(system.apis[0]!, hostile), 40)),
      attack(() => pressApi(system, hostile, 200)),
    ];
    console.log('attacked:', await firstTokens(system, normal, until));
    await Promise.all(attacks);
  },
};

const scenario = scenarios[process.argv[2] ?? ''];
if (scenario === undefined) throw new Error(`Name one of: ${Object.keys(scenarios).join(', ')}.`);
await withHostileSystem({ apiHeapMib: 320, workerHeapMib: 640 }, scenario);
process.exit(0);
