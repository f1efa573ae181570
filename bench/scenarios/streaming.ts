import { text, wait } from '../../test/support/scripted-model.js';
import { pause } from '../measure.js';
import { printProfiles } from '../profile.js';
import { scenario } from '../scenario.js';
import { idleWatchers } from '../sides/figures.js';
import { measureRounds, type Part } from '../sides/rounds.js';
import { startSides, type Sides } from '../sides/start.js';
import {
  capacity,
  FIRST_TOKEN_MS,
  FULL_MS,
  manyWatchers,
  PACE_MS,
  slowModel,
  slowTraffic,
  tokens,
  turnMemory,
  warmUp,
} from '../sides/streaming.js';
import { compare, type Row } from '../table.js';

const TURNS = [1, 8, 32];
/** Microseconds of a token while so many turns stream, all parts. */
const CPU_AIMS = new Map([
  [8, '≤ 600'],
  [32, '≤ 300'],
]);
const SLOW_TURNS = [1, 64];
const WATCHERS = 200;
const IN_MEMORY = 100;
/** Between two measurements, for what the one before has left to do. */
const SETTLE_MS = 2000;
const CAPACITY_STEPS = [64, 128, 192, 250, 320, 400];

const ROWS: Row[] = [
  ...TURNS.flatMap((turns): Row[] => [
    [`CPU per token, ${turns} turns, all parts`, 'µs', CPU_AIMS.has(turns) ? { own: CPU_AIMS.get(turns)! } : {}],
    [`of it own, ${turns} turns`, 'µs', {}],
    [`of it Postgres', ${turns} turns`, 'µs', {}],
    [`of it Temporal's, ${turns} turns`, 'µs', {}],
    [`CPU per token with its turn, ${turns} turns`, 'µs', {}],
    [`lag, ${turns} turns, p50`, 'ms', { own: turns === 1 ? '≤ 2' : '≤ 15' }],
    [`lag, ${turns} turns, p95`, 'ms', { own: '≤ 40' }],
    [`tokens in a delta, ${turns} turns`, '', {}],
  ]),
  ...SLOW_TURNS.flatMap((turns) => [`${turns} in flight`, `${turns} slow turns`]).flatMap((which): Row[] => [
    [`added to the first token, ${which}, p50`, 'ms', { own: '≤ 25' }],
    [`added to each token, ${which}, p50`, 'ms', { own: '≤ 15' }],
    [`added to each token, ${which}, p99`, 'ms', { own: '≤ 60' }],
  ]),
  [`own CPU per token and watcher, ${WATCHERS} watchers`, 'µs', {}],
  [`lag, ${WATCHERS} watchers, p50`, 'ms', {}],
  [`lag, ${WATCHERS} watchers, p95`, 'ms', {}],
  [`tokens in a write, ${WATCHERS} watchers`, '', {}],
  [`memory of a streaming turn, of ${IN_MEMORY}`, 'KB', { own: '≤ 150' }],
  ['memory of an idle watcher', 'KB', { own: '≤ 30' }],
  [`turns with a lag of at most ${FULL_MS} ms, p95`, '', { own: '≥ 250' }],
];

/**
 * What streaming costs: turns of 50 tokens a second, each with one client. The model and the clients run in this process, whose CPU
 * does not count.
 */
export default scenario({
  measures:
    'what a streamed token costs and how late it is, beside the minimal Temporal turn and LangGraph; --only takes the beginning of a part: tokens, slow traffic, slow model, watchers, memory, idle watchers, capacity; --sides takes names of sides, separated by commas; --profile FOLDER shows where the CPU of the one process goes',
  options: { rounds: 1, only: '', sides: '', profile: '' },
  async run(bench, { rounds, only, sides: wanted, profile }) {
    if (profile !== '') bench.atEnd(() => printProfiles(profile));
    const sides = await startSides(bench, { profile, sides: wanted });
    script(sides);
    const all = [sides.baseline, sides.service, sides.apart, sides.langgraph, sides.langgraphServer];
    for (const side of all) if (side !== null) await warmUp(sides.model, side);
    compare(ROWS, await measureRounds(parts(sides), { rounds, only }, () => pause(SETTLE_MS)));
  },
});

/** The answers of the model, the same for all sides: tokens of six characters. */
function script({ model }: Sides): void {
  const counted = (userText: string) =>
    text('token '.repeat(Number(/count (\d+)/.exec(userText)![1])).trim(), { every: PACE_MS });
  model.on(/^count (\d+)/, ({ userText }) => counted(userText));
  model.on(/^think, then count (\d+)/, ({ userText }) => {
    const gate = model.gate();
    setTimeout(() => gate.open(), FIRST_TOKEN_MS);
    return [wait(gate), counted(userText)];
  });
}

/** What a round measures, of one side after the other, so that all meet the same machine. */
function parts({ model, baseline, service, apart, langgraph, langgraphServer }: Sides): Part[] {
  const all = [baseline, service, apart, langgraph, langgraphServer];
  const own = [baseline, service, apart];
  return [
    ...TURNS.map((turns): Part => [`tokens ${turns}`, all, (side) => tokens(model, side, turns)]),
    ...SLOW_TURNS.map((turns): Part => [`slow traffic ${turns}`, all, (side) => slowTraffic(model, side, turns)]),
    ...SLOW_TURNS.map((turns): Part => [`slow model ${turns}`, all, (side) => slowModel(model, side, turns)]),
    ['watchers', own, (side) => manyWatchers(model, side, WATCHERS)],
    ['memory', own, (side) => turnMemory(model, side, IN_MEMORY)],
    ['idle watchers', own, (side) => idleWatchers(side, 500)],
    ['capacity', own, (side) => capacity(model, side, CAPACITY_STEPS)],
  ];
}
