import { message, text, toolUse } from '../../test/support/scripted-model.js';
import { pause } from '../measure.js';
import { printProfiles } from '../profile.js';
import { scenario } from '../scenario.js';
import {
  idleWatchers,
  inFlight,
  oneToken,
  streaming,
  throughput,
  TOOL_CALLS,
  toolStep,
  watchers,
} from '../sides/figures.js';
import { measureRounds, type Part } from '../sides/rounds.js';
import type { Side } from '../sides/side.js';
import { startSides, type Sides } from '../sides/start.js';
import { compare, type Figures, type Row } from '../table.js';

/** Turns before the first round: Node compiles hot functions during the first hundreds. */
const WARM_UP = 400;

/** The first model call is an activity of the workflow, so a turn whose model answers at once takes longer than a bare Temporal turn. */
const ROWS: Row[] = [
  ['turn of one token, p50', 'ms', { ratio: '≤ 1.25' }],
  ['turn of one token, p95', 'ms', {}],
  ['first delta, p50', 'ms', { ratio: '≤ 1.2' }],
  ['tool step (model call and MCP tool)', 'ms', { ratio: '≤ 1.2' }],
  ['turns/s, 1 in flight', '', {}],
  ['turns/s, 32 in flight', '', { ratio: '≥ 0.72, apart 0.8' }],
  ['turns/s, 64 in flight', '', { ratio: '≥ 0.72, apart 0.8' }],
  ['p50, 64 in flight', 'ms', {}],
  ['p95, 64 in flight', 'ms', {}],
  ['p95 / p50, 64 in flight', '', { own: '≤ 1.8' }],
  ['own CPU per turn, 32 in flight', 'ms', { ratio: '≤ 1.5' }],
  ["Temporal's CPU per turn, 32 in flight", 'ms', {}],
  ["Postgres' CPU per turn, 32 in flight", 'ms', { own: '≤ 6' }],
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
    'the service beside a minimal Temporal turn and LangGraph (its library and its server); --only takes the beginning of a part: turn, tool, throughput, streaming, watchers, idle watchers; --sides takes names of sides, separated by commas; --away MS adds the side `away`, apart with a Postgres that is so far away; --other FOLDER adds the side `other`, apart with the build of another checkout, with --away as far from Postgres; --profile FOLDER shows where the CPU of the one process goes',
  options: { rounds: 3, only: '', sides: '', away: 0, other: '', profile: '' },
  async run(bench, { rounds, only, sides: wanted, away, other, profile }) {
    if (profile !== '') bench.atEnd(() => printProfiles(profile));
    const sides = await startSides(bench, { profile, sides: wanted, away, other });
    script(sides);
    const { baseline, service, apart, langgraph, langgraphServer } = sides;
    for (const side of [baseline, service, apart, sides.away, sides.other, langgraph, langgraphServer])
      if (side !== null) await warmUp(side);
    const means = await measureRounds(parts(sides), { rounds, only }, untilTemporalIsIdle);
    const compared = ['baseline', 'service', 'apart', 'away', 'other'] as const;
    compare(ROWS, Object.fromEntries(compared.flatMap((name) => (means[name] ? [[name, means[name]]] : []))));
    printRest(means.service ?? {}, means.langgraph ?? {}, means.langgraphServer ?? {});
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

/** What a round measures, of one side after the other, so that all meet the same machine. */
function parts({ model, baseline, service, apart, away, other, langgraph, langgraphServer }: Sides): Part[] {
  const all = [baseline, service, apart, away, other];
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

async function warmUp(side: Side): Promise<void> {
  let started = 0;
  await inFlight(side, 32, () => (started += 1) <= WARM_UP);
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
