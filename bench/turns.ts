/**
 * Compares the service with a minimal Temporal turn (bench/baseline) on the same servers, in one run: `npm run bench`.
 * Everything runs on this machine, so quote the ratios, not the milliseconds. Run nothing else at the same time.
 */
import { message, text, toolUse } from '../test/support/scripted-model.js';
import type { SseReader } from '../test/support/sse-reader.js';
import { median, quantile, startBench, type Bench, type Side } from './support/run.js';

/** Both sides are measured in each round, one after the other. */
const ROUNDS = 2;
const TOOL_CALLS = 10;
const TOKENS = 250;

type Figures = Record<string, number>;

/** The printed figures: name, unit, and target: a ratio to the baseline, or a limit for the service's own value. */
const ROWS: [figure: string, unit: string, aim: { ratio?: string; own?: string }][] = [
  ['turn of one token, p50', 'ms', { ratio: '≤ 1.15' }],
  ['turn of one token, p95', 'ms', {}],
  ['first delta, p50', 'ms', { ratio: '≤ 1.15' }],
  ['tool step (model call and MCP tool)', 'ms', { ratio: '≤ 1.15' }],
  ['turns/s, 1 in flight', '', {}],
  ['turns/s, 32 in flight', '', { ratio: '≥ 0.9' }],
  ['turns/s, 64 in flight', '', { ratio: '≥ 0.9' }],
  ['p50, 64 in flight', 'ms', {}],
  ['p95, 64 in flight', 'ms', {}],
  ['p95 / p50, 64 in flight', '', { own: '≤ 1.8' }],
  ['own CPU per turn, 32 in flight', 'ms', { ratio: '≤ 1.25' }],
  ["Temporal's CPU per turn, 32 in flight", 'ms', {}],
  ["Postgres' CPU per turn, 32 in flight", 'ms', { own: '≤ 2.5' }],
  ['delta lag of 1 turn × 50 tokens/s, p95', 'ms', {}],
  ['delta lag of 32 turns × 50 tokens/s, p95', 'ms', { own: '≤ 10' }],
  ['CPU per streamed token, all parts', 'ms', { own: '≤ 1.0' }],
  ['delta lag of 200 watchers of a turn, p95', 'ms', { ratio: '≤ 1.15' }],
  ['memory of an idle watcher', 'KB', { own: '≤ 30' }],
];

const bench = await startBench();
try {
  script(bench);
  const rounds: Record<Side['name'], Figures[]> = { baseline: [], service: [] };
  const sides = [bench.baseline, bench.service];
  for (const side of sides) await oneToken(side, 50);
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const side of sides) {
      console.log(`round ${round} of ${ROUNDS}: ${side.name}`);
      rounds[side.name].push(await measure(bench, side));
    }
  }
  print(meanOf(rounds.baseline), meanOf(rounds.service));
} finally {
  await bench.close();
}

/** The answers of the model, the same for both sides. */
function script({ model }: Bench): void {
  model.on(/one token/, text('ok'));
  model.on(/use a tool/, ({ body }) => {
    const toolCalls = body.messages.filter(({ role }) => role === 'assistant').length;
    const tool = body.tools?.find((each) => 'name' in each && each.name.endsWith('ping'));
    return toolCalls < TOOL_CALLS ? message([toolUse((tool as { name: string }).name, {})]) : text('done');
  });
  model.on(/count (\d+)/, ({ userText }) => {
    const tokens = Number(/count (\d+)/.exec(userText)![1]);
    return text('token '.repeat(tokens).trim(), { every: 20 });
  });
}

async function measure({ model }: Bench, side: Side): Promise<Figures> {
  return {
    ...(await oneToken(side, 100)),
    ...(await toolStep(side)),
    ...(await throughput(side, 1)),
    ...(await throughput(side, 32)),
    ...(await throughput(side, 64)),
    ...(await streaming(model, side, 1)),
    ...(await streaming(model, side, 32)),
    ...(await watchers(model, side, 200)),
    ...(await idleWatchers(side, 500)),
  };
}

async function turn(side: Side, sessionId: string, content: string): Promise<{ total: number; firstDelta: number }> {
  const began = performance.now();
  await side.send(sessionId, content);
  const stream = await side.stream(sessionId);
  const first = await stream.until(({ event }) => event.startsWith('agent.'));
  const last = await stream.until(({ event }) => event === 'turn.completed');
  await stream.ended;
  return { total: last.at - began, firstDelta: first.at - began };
}

async function oneToken(side: Side, turns: number): Promise<Figures> {
  const totals: number[] = [];
  const firstDeltas: number[] = [];
  for (let n = 0; n < turns; n += 1) {
    const { total, firstDelta } = await turn(side, await side.session(), 'one token');
    totals.push(total);
    firstDeltas.push(firstDelta);
  }
  return {
    'turn of one token, p50': median(totals),
    'turn of one token, p95': quantile(totals, 0.95),
    'first delta, p50': median(firstDeltas),
  };
}

async function toolStep(side: Side): Promise<Figures> {
  const steps: number[] = [];
  for (let n = 0; n < 10; n += 1) {
    const one = await turn(side, await side.session(true), 'one token');
    const many = await turn(side, await side.session(true), 'use a tool');
    if (n >= 2) steps.push((many.total - one.total) / TOOL_CALLS);
  }
  return { 'tool step (model call and MCP tool)': median(steps) };
}

async function throughput(side: Side, inFlight: number): Promise<Figures> {
  const before = side.cpu();
  const began = performance.now();
  const totals: number[] = [];
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      const sessionId = await side.session();
      while (performance.now() < began + 8000) totals.push((await turn(side, sessionId, 'one token')).total);
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const after = side.cpu();
  const cpu = (part: keyof typeof after): number => ((after[part] - before[part]) * 1000) / totals.length;
  return {
    [`turns/s, ${inFlight} in flight`]: totals.length / seconds,
    [`p50, ${inFlight} in flight`]: median(totals),
    [`p95, ${inFlight} in flight`]: quantile(totals, 0.95),
    [`p95 / p50, ${inFlight} in flight`]: quantile(totals, 0.95) / median(totals),
    [`own CPU per turn, ${inFlight} in flight`]: cpu('service'),
    [`Temporal's CPU per turn, ${inFlight} in flight`]: cpu('temporal'),
    [`Postgres' CPU per turn, ${inFlight} in flight`]: cpu('postgres'),
  };
}

/** Milliseconds from when the model sends a delta until it arrives. This process takes both times. */
function lagsOf(model: Bench['model'], sessionId: string, stream: SseReader): number[] {
  const request = model.requests.find(({ userText }) => userText.includes(sessionId))!;
  const deltas = stream.frames.filter(({ event }) => event === 'agent.message.delta');
  return deltas.map((delta, number) => delta.at - request.sentAt[number]!);
}

async function streaming(model: Bench['model'], side: Side, turns: number): Promise<Figures> {
  const lags: number[] = [];
  const before = side.cpu();
  await Promise.all(
    Array.from({ length: turns }, async () => {
      const sessionId = await side.session();
      await side.send(sessionId, `count ${TOKENS} for ${sessionId}`);
      const stream = await side.stream(sessionId);
      await stream.until(({ event }) => event === 'turn.completed');
      // The first deltas arrive while other sessions and streams are still being opened.
      lags.push(...lagsOf(model, sessionId, stream).slice(50));
    }),
  );
  const after = side.cpu();
  const cpu = after.service + after.temporal + after.postgres - before.service - before.temporal - before.postgres;
  return {
    [`delta lag of ${turns} turn${turns === 1 ? '' : 's'} × 50 tokens/s, p95`]: quantile(lags, 0.95),
    'CPU per streamed token, all parts': (cpu * 1000) / (turns * TOKENS),
  };
}

async function watchers(model: Bench['model'], side: Side, count: number): Promise<Figures> {
  const sessionId = await side.session();
  const streams = await Promise.all(Array.from({ length: count }, () => side.stream(sessionId)));
  await side.send(sessionId, `count 150 for ${sessionId}`);
  const lags: number[] = [];
  for (const stream of streams) {
    await stream.until(({ event }) => event === 'turn.completed');
    lags.push(...lagsOf(model, sessionId, stream));
  }
  return { [`delta lag of ${count} watchers of a turn, p95`]: quantile(lags, 0.95) };
}

async function idleWatchers(side: Side, count: number): Promise<Figures> {
  const sessionId = await side.session();
  const before = side.memoryKb();
  const streams = await Promise.all(Array.from({ length: count }, () => side.stream(sessionId)));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const figure = { 'memory of an idle watcher': (side.memoryKb() - before) / count };
  for (const stream of streams) stream.close();
  return figure;
}

function meanOf(rounds: Figures[]): Figures {
  const mean = (name: string): number => rounds.reduce((sum, figures) => sum + figures[name]!, 0) / rounds.length;
  return Object.fromEntries(Object.keys(rounds[0]!).map((name) => [name, mean(name)]));
}

function print(baseline: Figures, service: Figures): void {
  const line = (...cells: string[]): void =>
    console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(44) : cell.padStart(12))).join(''));
  line('', 'baseline', 'service', 'ratio', 'aim');
  for (const [name, unit, { ratio, own }] of ROWS) {
    const value = (figures: Figures): string => `${figures[name]!.toFixed(1)} ${unit}`.trim();
    const aim = ratio === undefined ? (own ?? '') : `${ratio} ×`;
    line(name, value(baseline), value(service), `${(service[name]! / baseline[name]!).toFixed(2)} ×`, aim);
  }
}
