import type { ScriptedModel } from '../../test/support/scripted-model.js';
import type { SseReader } from '../../test/support/sse-reader.js';
import { median, pause, quantile } from '../measure.js';
import type { Figures } from '../table.js';
import type { Side } from './side.js';

/** Calls of the tool in a turn of `toolStep`. */
export const TOOL_CALLS = 10;
/** A number of turns, not of seconds: what a side does at its beginning weighs the same for each. */
const TURNS_PER_SLOT = 12;
const LEAST_TURNS = 60;
const TOKENS = 250;

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

export async function oneToken(side: Side, turns: number): Promise<Figures> {
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

export async function toolStep(side: Side): Promise<Figures> {
  const steps: number[] = [];
  for (let n = 0; n < 10; n += 1) {
    const one = await turn(side, await side.session(true), 'one token');
    const many = await turn(side, await side.session(true), 'use a tool');
    if (n >= 2) steps.push((many.total - one.total) / TOOL_CALLS);
  }
  return { 'tool step (model call and MCP tool)': median(steps) };
}

/** Keeps as many turns in flight while `more` holds; returns what each took. */
export async function inFlight(side: Side, turns: number, more: () => boolean): Promise<number[]> {
  const totals: number[] = [];
  await Promise.all(
    Array.from({ length: turns }, async () => {
      const sessionId = await side.session();
      while (more()) totals.push((await turn(side, sessionId, 'one token')).total);
    }),
  );
  return totals;
}

export async function throughput(side: Side, turns: number): Promise<Figures> {
  let left = Math.max(LEAST_TURNS, turns * TURNS_PER_SLOT);
  const before = side.cpu();
  const began = performance.now();
  const totals = await inFlight(side, turns, () => left-- > 0);
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
function lagsOf(model: ScriptedModel, sessionId: string, stream: SseReader): number[] {
  const request = model.requests.find(({ userText }) => userText.includes(sessionId))!;
  const deltas = stream.frames.filter(({ event }) => event === 'agent.message.delta');
  return deltas.map((delta, number) => delta.at - request.sentAt[number]!);
}

export async function streaming(model: ScriptedModel, side: Side, turns: number): Promise<Figures> {
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

export async function watchers(model: ScriptedModel, side: Side, count: number): Promise<Figures> {
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
export async function idleWatchers(side: Side, count: number): Promise<Figures> {
  const sessionId = await side.session();
  const before = side.memoryKb();
  const streams = await Promise.all(Array.from({ length: count }, () => side.stream(sessionId)));
  await pause(3000);
  const figure = { 'memory of an idle watcher': (side.memoryKb() - before) / count };
  for (const stream of streams) stream.close();
  return figure;
}
