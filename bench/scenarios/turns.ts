import { loadavg } from 'node:os';
import { message, text, toolUse } from '../../test/support/scripted-model.js';
import type { SseReader } from '../../test/support/sse-reader.js';
import { median, pause, quantile } from '../measure.js';
import { printProfiles } from '../profile.js';
import { scenario } from '../scenario.js';
import { startSides, type Side, type Sides } from '../sides.js';
import { compare, meanOf, type Figures, type Row } from '../table.js';

/** Turns before the first round: Node compiles hot functions during the first hundreds. */
const WARM_UP = 400;
const THROUGHPUT_SECONDS = 4;
const TOOL_CALLS = 10;
const TOKENS = 250;

const ROWS: Row[] = [
  ['turn of one token, p50', 'ms', { ratio: '≤ 0.6' }],
  ['turn of one token, p95', 'ms', {}],
  ['first delta, p50', 'ms', { ratio: '≤ 0.6' }],
  ['tool step (model call and MCP tool)', 'ms', { ratio: '≤ 1.25' }],
  ['turns/s, 1 in flight', '', {}],
  ['turns/s, 32 in flight', '', { ratio: '≥ 0.9' }],
  ['turns/s, 64 in flight', '', { ratio: '≥ 0.9' }],
  ['p50, 64 in flight', 'ms', {}],
  ['p95, 64 in flight', 'ms', {}],
  ['p95 / p50, 64 in flight', '', { own: '≤ 1.8' }],
  ['own CPU per turn, 32 in flight', 'ms', { ratio: '≤ 1.45' }],
  ["Temporal's CPU per turn, 32 in flight", 'ms', {}],
  ["Postgres' CPU per turn, 32 in flight", 'ms', { own: '≤ 4' }],
  ['delta lag of 1 turn × 50 tokens/s, p95', 'ms', {}],
  ['delta lag of 32 turns × 50 tokens/s, p95', 'ms', { own: '≤ 10' }],
  ['CPU per token of 32 turns, all parts', 'ms', { own: '≤ 1.0' }],
  ['delta lag of 200 watchers of a turn, p95', 'ms', { ratio: '≤ 1.15' }],
  ['memory of an idle watcher', 'KB', { own: '≤ 30' }],
];

/**
 * The service and a minimal Temporal turn (bench/baseline) on the same servers, in one run: in one process, as `npm start`
 * runs it, and with API and worker apart, as in production.
 */
export default scenario({
  measures:
    'the service beside a minimal Temporal turn and LangGraph (its library and its server); --only takes the beginning of a part: turn, tool, throughput, streaming, watchers, idle watchers; --profile FOLDER shows where the CPU of the one process goes',
  options: { rounds: 3, only: '', profile: '' },
  async run(bench, { rounds, only, profile }) {
    if (profile !== '') bench.atEnd(() => printProfiles(profile));
    const sides = await startSides(bench, profile);
    script(sides);
    const { baseline, service, apart, langgraph, langgraphServer } = sides;
    const measured: Record<Side['name'], Figures[]> = {
      baseline: [],
      service: [],
      apart: [],
      langgraph: [],
      langgraphServer: [],
    };
    for (const side of [baseline, service, apart, langgraph, langgraphServer]) if (side !== null) await warmUp(side);
    for (let round = 1; round <= rounds; round += 1) {
      console.log(`round ${round} of ${rounds}, load ${loadavg()[0]!.toFixed(1)}`);
      for (const [name, measuredSides, part] of parts(sides)) {
        if (!name.startsWith(only)) continue;
        for (const side of measuredSides) {
          if (side === null) continue;
          await untilTemporalIsIdle(side);
          measured[side.name].push(await part(side));
        }
      }
    }
    const [bare, whole] = [meanOf(measured.baseline), meanOf(measured.service)];
    compare(ROWS, { baseline: bare, service: whole, apart: meanOf(measured.apart) });
    printRest(whole, meanOf(measured.langgraph), meanOf(measured.langgraphServer));
  },
});

/** The answers of the model, the same for both sides. */
function script({ model }: Sides): void {
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

type Part = [name: string, sides: (Side | null)[], measure: (side: Side) => Promise<Figures>];

/** What a round measures, of one side after the other, so that all meet the same machine. */
function parts({ model, baseline, service, apart, langgraph, langgraphServer }: Sides): Part[] {
  const all = [baseline, service, apart];
  const one = [baseline, service];
  return [
    ['turn', [...all, langgraph, langgraphServer], (side) => oneToken(side, 100)],
    ['tool', all, (side) => toolStep(side)],
    ['throughput 1', one, (side) => throughput(side, 1)],
    ['throughput 32', all, (side) => throughput(side, 32)],
    ['throughput 64', all, (side) => throughput(side, 64)],
    ['streaming 1', one, (side) => streaming(model, side, 1)],
    ['streaming 32', one, (side) => streaming(model, side, 32)],
    ['watchers', one, (side) => watchers(model, side, 200)],
    ['idle watchers', one, (side) => idleWatchers(side, 500)],
  ];
}

/** Waits until Temporal has cleaned up after the turns before, which would delay the next ones. */
async function untilTemporalIsIdle(side: Side): Promise<void> {
  for (let busy = 1; busy > 0.05;) {
    const before = side.cpu().temporal;
    await pause(1000);
    busy = side.cpu().temporal - before;
  }
}

/** Both times count from just before the message is sent. */
async function turn(side: Side, sessionId: string, content: string): Promise<{ total: number; firstDelta: number }> {
  const began = performance.now();
  await side.send(sessionId, content);
  const stream = await side.stream(sessionId);
  const first = await stream.until((frame) => side.isDelta(frame));
  const last = side.isEnd && (await stream.until((frame) => side.isEnd!(frame)));
  await stream.ended;
  return { total: (last?.at ?? performance.now()) - began, firstDelta: first.at - began };
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

async function warmUp(side: Side): Promise<void> {
  let started = 0;
  await inFlight(side, 32, () => (started += 1) <= WARM_UP);
}

/** Keeps as many turns in flight while `more` holds; returns what each took. */
async function inFlight(side: Side, turns: number, more: () => boolean): Promise<number[]> {
  const totals: number[] = [];
  await Promise.all(
    Array.from({ length: turns }, async () => {
      const sessionId = await side.session();
      while (more()) totals.push((await turn(side, sessionId, 'one token')).total);
    }),
  );
  return totals;
}

async function throughput(side: Side, turns: number): Promise<Figures> {
  const before = side.cpu();
  const began = performance.now();
  const totals = await inFlight(side, turns, () => performance.now() < began + THROUGHPUT_SECONDS * 1000);
  const seconds = (performance.now() - began) / 1000;
  const after = side.cpu();
  const cpu = (part: keyof typeof after): number => ((after[part] - before[part]) * 1000) / totals.length;
  return {
    [`turns/s, ${turns} in flight`]: totals.length / seconds,
    [`p50, ${turns} in flight`]: median(totals),
    [`p95, ${turns} in flight`]: quantile(totals, 0.95),
    [`p95 / p50, ${turns} in flight`]: quantile(totals, 0.95) / median(totals),
    [`own CPU per turn, ${turns} in flight`]: cpu('service'),
    [`Temporal's CPU per turn, ${turns} in flight`]: cpu('temporal'),
    [`Postgres' CPU per turn, ${turns} in flight`]: cpu('postgres'),
  };
}

/** Milliseconds from when the model sends a delta until it arrives. This process takes both times. */
function lagsOf(model: Sides['model'], sessionId: string, stream: SseReader): number[] {
  const request = model.requests.find(({ userText }) => userText.includes(sessionId))!;
  const deltas = stream.frames.filter(({ event }) => event === 'agent.message.delta');
  return deltas.map((delta, number) => delta.at - request.sentAt[number]!);
}

async function streaming(model: Sides['model'], side: Side, turns: number): Promise<Figures> {
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
    [`CPU per token of ${turns} turns, all parts`]: (cpu * 1000) / (turns * TOKENS),
  };
}

async function watchers(model: Sides['model'], side: Side, count: number): Promise<Figures> {
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

/** A rough figure: garbage that Node collects in between counts too. */
async function idleWatchers(side: Side, count: number): Promise<Figures> {
  const sessionId = await side.session();
  const before = side.memoryKb();
  const streams = await Promise.all(Array.from({ length: count }, () => side.stream(sessionId)));
  await pause(3000);
  const figure = { 'memory of an idle watcher': (side.memoryKb() - before) / count };
  for (const stream of streams) stream.close();
  return figure;
}

/**
 * What is not compared with the baseline. The development server looks for new runs at random moments (10 loops that sleep up to
 * 1 s each) and ends a stream 500 ms after its last message: most of its times is waiting, not work.
 */
function printRest(service: Figures, langgraph: Figures, langgraphServer: Figures): void {
  const names = ['turn of one token, p50', 'first delta, p50'];
  const systems = { 'LangGraph in memory': langgraph, "LangGraph's development server": langgraphServer };
  for (const [system, figures] of Object.entries(systems)) {
    for (const name of names) {
      if (figures[name] === undefined) continue;
      console.log(`${system}: ${name} ${figures[name].toFixed(1)} ms, the service ${service[name]!.toFixed(1)} ms`);
    }
  }
}
