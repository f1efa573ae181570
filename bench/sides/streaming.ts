import type { ScriptedModel } from '../../test/support/scripted-model.js';
import type { SseReader } from '../../test/support/sse-reader.js';
import { pause, quantile } from '../measure.js';
import type { Figures } from '../table.js';
import type { Side } from './side.js';

/** Milliseconds between two tokens of a model. */
export const PACE_MS = 20;
/** Milliseconds to the first token of a model that takes its time. */
export const FIRST_TOKEN_MS = 400;
const TOKENS = 250;
/** A message to the model that takes its time. */
const THINK = 'think, then count';
/** A token's own cost is measured while all turns stream: they must be longer than it takes to open them. */
const LONG_TOKENS = 600;
/** Tokens at the start of a stream whose lag does not count: sessions and streams are still being opened. */
const OPENING = 50;
/** Characters of a token, with the space before it. */
const TOKEN_CHARACTERS = 6;
/** A lag beyond this, for 95 % of the tokens, means that the machine is full. */
export const FULL_MS = 100;

interface Streamed {
  /** Milliseconds of each token from the model to the client. */
  lags: number[];
  /** Of the first tokens alone: from sending the message, without the time of the model. */
  firsts: number[];
  tokens: number;
  deltas: number;
  /** CPU microseconds of a token while all turns streamed; null if one ended before the last one had begun. */
  cpuPerToken: Record<CpuPart, number> | null;
}

type CpuPart = keyof ReturnType<Side['cpu']>;

/** When each token arrived: a delta may hold several. */
function arrivals(side: Side, { frames }: SseReader): number[] {
  const arrived: number[] = [];
  let characters = 0;
  for (const frame of frames) {
    characters = side.charactersAfter(frame, characters);
    while (TOKEN_CHARACTERS * (arrived.length + 1) - 1 <= characters) arrived.push(frame.at);
  }
  return arrived;
}

/** Runs turns, each with a client of its own: all at once, or one every `everyMs`. */
async function run(
  model: ScriptedModel,
  side: Side,
  turns: number,
  content: string,
  count = TOKENS,
  everyMs = 0,
): Promise<Streamed> {
  const streamed: Streamed = { lags: [], firsts: [], tokens: 0, deltas: 0, cpuPerToken: null };
  const times: number[] = [];
  let toOpen = turns;
  let opened: CpuSample | null = null;
  let ended: CpuSample | null = null;
  const one = async (): Promise<void> => {
    const sessionId = await side.session();
    const began = performance.now();
    await side.send(sessionId, `${content} ${count} for ${sessionId}`);
    const stream = await side.stream(sessionId);
    let characters = 0;
    await stream.until((frame) => {
      characters = side.charactersAfter(frame, characters);
      return characters >= OPENING * TOKEN_CHARACTERS;
    });
    toOpen -= 1;
    if (toOpen === 0) opened = sampleCpu(side);
    await (side.isEnd === undefined ? stream.ended : stream.until((frame) => side.isEnd!(frame)));
    ended ??= sampleCpu(side);
    const { receivedAt, sentAt } = model.requests.find(({ userText }) => userText.includes(sessionId))!;
    const arrived = arrivals(side, stream);
    streamed.firsts.push(receivedAt - began + arrived[0]! - sentAt[0]!);
    streamed.lags.push(...arrived.map((time, token) => time - sentAt[token]!).slice(OPENING));
    streamed.tokens += arrived.length;
    streamed.deltas += new Set(arrived).size;
    times.push(...arrived);
  };
  await Promise.all(Array.from({ length: turns }, (_, turn) => pause(turn * everyMs).then(one)));
  model.requests.length = 0;
  streamed.cpuPerToken = cpuPerToken(opened!, ended!, times);
  return streamed;
}

interface CpuSample {
  at: number;
  cpu: ReturnType<Side['cpu']>;
}

const sampleCpu = (side: Side): CpuSample => ({ at: performance.now(), cpu: side.cpu() });

/** Of the tokens that arrived between two moments. */
function cpuPerToken(from: CpuSample, to: CpuSample, times: number[]): Streamed['cpuPerToken'] {
  const count = times.filter((time) => time > from.at && time <= to.at).length;
  if (count === 0) return null;
  const each = (part: CpuPart): number => ((to.cpu[part] - from.cpu[part]) * 1_000_000) / count;
  return { service: each('service'), temporal: each('temporal'), postgres: each('postgres') };
}

/** CPU microseconds of each part of a side while `work` runs, for one of `count`. */
async function cpuOf<T>(side: Side, work: () => Promise<T>, count: (result: T) => number) {
  const before = side.cpu();
  const result = await work();
  const after = side.cpu();
  const each = (part: CpuPart): number => ((after[part] - before[part]) * 1_000_000) / count(result);
  return { result, each };
}

export async function tokens(model: ScriptedModel, side: Side, turns: number): Promise<Figures> {
  const { result, each } = await cpuOf(
    side,
    () => run(model, side, turns, 'count', LONG_TOKENS),
    (streamed) => streamed.tokens,
  );
  const { cpuPerToken: own } = result;
  return {
    ...(own !== null && {
      [`CPU per token, ${turns} turns, all parts`]: own.service + own.postgres + own.temporal,
      [`of it own, ${turns} turns`]: own.service,
      [`of it Postgres', ${turns} turns`]: own.postgres,
      [`of it Temporal's, ${turns} turns`]: own.temporal,
    }),
    [`CPU per token with its turn, ${turns} turns`]: each('service') + each('postgres') + each('temporal'),
    [`lag, ${turns} turns, p50`]: quantile(result.lags, 0.5),
    [`lag, ${turns} turns, p95`]: quantile(result.lags, 0.95),
    [`tokens in a delta, ${turns} turns`]: result.tokens / result.deltas,
  };
}

/** Runs turns that nobody measures: Node compiles hot functions during the first thousands of tokens. */
export async function warmUp(model: ScriptedModel, side: Side): Promise<void> {
  await run(model, side, 32, 'count');
}

/** With a model that takes its time: what the side adds to the first token and to each further one of turns that begin at one moment. */
export async function slowModel(model: ScriptedModel, side: Side, turns: number): Promise<Figures> {
  return slowFigures(`${turns} slow turns`, await run(model, side, turns, THINK));
}

/** The same while so many turns run, and as many more begin evenly in the time of a turn: only these count for the first token. */
export async function slowTraffic(model: ScriptedModel, side: Side, turns: number): Promise<Figures> {
  const turnMs = FIRST_TOKEN_MS + TOKENS * PACE_MS;
  // One at a time: enough of them for a median.
  const count = turns === 1 ? 10 : 2 * turns;
  const { firsts, lags } = await run(model, side, count, THINK, TOKENS, (1.1 * turnMs) / turns);
  return slowFigures(`${turns} in flight`, { lags, firsts: turns === 1 ? firsts : firsts.slice(-turns) });
}

function slowFigures(which: string, { firsts, lags }: Pick<Streamed, 'firsts' | 'lags'>): Figures {
  return {
    [`added to the first token, ${which}, p50`]: quantile(firsts, 0.5),
    [`added to each token, ${which}, p50`]: quantile(lags, 0.5),
    [`added to each token, ${which}, p99`]: quantile(lags, 0.99),
  };
}

/** Many clients of one turn. */
export async function manyWatchers(model: ScriptedModel, side: Side, count: number): Promise<Figures> {
  const sessionId = await side.session();
  const streams = await Promise.all(Array.from({ length: count }, () => side.stream(sessionId)));
  await side.send(sessionId, `count ${LONG_TOKENS} for ${sessionId}`);
  await Promise.all(streams.map((stream) => stream.until((frame) => side.isDelta(frame))));
  const from = sampleCpu(side);
  await Promise.race(streams.map((stream) => stream.until((frame) => side.isEnd!(frame))));
  const to = sampleCpu(side);
  await Promise.all(streams.map((stream) => stream.until((frame) => side.isEnd!(frame))));
  const { sentAt } = model.requests.find(({ userText }) => userText.includes(sessionId))!;
  const arrived = streams.map((stream) => arrivals(side, stream));
  model.requests.length = 0;
  const lags = arrived.flatMap((times) => times.map((time, token) => time - sentAt[token]!));
  const own = cpuPerToken(from, to, arrived.flat());
  return {
    ...(own !== null && { [`own CPU per token and watcher, ${count} watchers`]: own.service }),
    [`lag, ${count} watchers, p50`]: quantile(lags, 0.5),
    [`lag, ${count} watchers, p95`]: quantile(lags, 0.95),
    [`tokens in a write, ${count} watchers`]:
      lags.length / arrived.reduce((sum, times) => sum + new Set(times).size, 0),
  };
}

/** Rough figures: garbage that Node collects in between counts too. */
export async function turnMemory(model: ScriptedModel, side: Side, turns: number): Promise<Figures> {
  const before = side.memoryKb();
  const running = run(model, side, turns, 'count');
  await pause((TOKENS * PACE_MS) / 2);
  const during = side.memoryKb();
  await running;
  return { [`memory of a streaming turn, of ${turns}`]: (during - before) / turns };
}

/** More and more turns, until the tokens come late. */
export async function capacity(model: ScriptedModel, side: Side, steps: number[]): Promise<Figures> {
  let carried = 0;
  for (const turns of steps) {
    const { lags } = await run(model, side, turns, 'count');
    if (quantile(lags, 0.95) > FULL_MS) break;
    carried = turns;
  }
  return { [`turns with a lag of at most ${FULL_MS} ms, p95`]: carried };
}
