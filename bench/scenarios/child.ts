import { cpus, loadavg } from 'node:os';
import { createKey } from '../../src/projects/api-keys.js';
import { agentTool, callAgent } from '../../test/support/child-agents.js';
import type { FaultSystem } from '../../test/support/fault-system.js';
import { message, text } from '../../test/support/scripted-model.js';
import { inParallel, pause, ratios, shown, timed, timedEach, usageOf, usedBetween, type Usage } from '../measure.js';
import { scenario } from '../scenario.js';
import { row, tableOf } from '../table.js';

const AT_ONCE = 8;
const WARM_UP = 50;
/** A connection that is idle reports its statistics to Postgres after 10 s. */
const SETTLED_MS = 11_000;
const IDLE_MS = 21_000;
/** The most that are open at a time. */
const MAX_OPEN_CHILDREN = 16;
/** Windows of the other project take turns, so that other work of the machine falls on both. */
const ROUNDS = 3;

export default scenario({
  measures:
    'what a turn costs that the call of an agent has begun, beside a turn without calls, its model answers at once; then the turns of a project before, while another one with max_running_turns 1 runs parents of 16 children each, and while a third one runs 16 turns without calls. --parents with --children calls each, compared with as many of one call; --samples: turns of the other project in a window, three of each kind',
  options: { turns: 300, parents: 40, children: 8, samples: 40 },
  async run(bench, options) {
    const system = await bench.system({ ownPostgres: true, ownTemporal: { persistent: true } });
    system.model.on(/plain|task/, text('ok'));
    system.model.on(/parent of (\d+)/, ({ step, userText }) => {
      const children = Number(/parent of (\d+)/.exec(userText)![1]);
      return step > 0 ? text('ok') : message(Array.from({ length: children }, () => callAgent('instant', 'task')));
    });
    console.log(`load ${loadavg()[0]!.toFixed(1)} on ${cpus().length} cores`);
    await costs(system, options);
    await neighbours(system, options.samples);
    console.log(`load ${loadavg()[0]!.toFixed(1)} on ${cpus().length} cores`);
  },
});

/** A project whose sessions may call an agent. */
class Project {
  private constructor(
    private readonly system: FaultSystem,
    private readonly key: string,
    private readonly agentId: string,
  ) {}

  static async of(system: FaultSystem, name: string, maxRunningTurns: number): Promise<Project> {
    const { key } = await createKey(system.db, { project: name, maxRunningTurns });
    const agent = { name: 'instant', description: 'Answers.', model_id: 'scripted', thinking_enabled: false };
    const { body } = await system.insist('POST', '/v1/agents', agent, key);
    return new Project(system, key, body.id as string);
  }

  /** Runs a turn in a session of its own. */
  async run(content: string): Promise<void> {
    const tools = content.startsWith('parent') ? [agentTool(this.agentId)] : [];
    const sessionId = await this.system.session({ tools }, this.key);
    const { ended } = await this.system.stream(await this.system.send(sessionId, content, this.key));
    await ended;
  }
}

async function costs(
  system: FaultSystem,
  { turns, parents, children }: { turns: number; parents: number; children: number },
): Promise<void> {
  const project = await Project.of(system, 'costs', 1000);
  const run = (content: string, count: number): Promise<unknown> =>
    inParallel(AT_ONCE, count, () => project.run(content));
  await run('plain', WARM_UP);
  await run('parent of 2', WARM_UP / 2);
  const settled = async (ms = SETTLED_MS): Promise<Usage> => {
    await pause(ms);
    return usageOf(system);
  };
  const idle: [Usage, Usage] = [await settled(), await settled(IDLE_MS)];
  /** What one turn of the kind uses, with its children. */
  const each = async (content: string, count: number): Promise<Usage> => {
    const before = await settled();
    const ms = await timed(() => run(content, count));
    const used = usedBetween(before, await settled(), idle);
    row(`${count} turns: ${content}`, `${(count / (ms / 1000)).toFixed(1)}/s`);
    return perOne(used, (value) => value / count);
  };
  const plain = await each('plain', turns);
  const one = await each('parent of 1', parents);
  const many = await each(`parent of ${children}`, parents);
  const child = perOne(many, (value, key) => (value - one[key]) / (children - 1));
  const figures: [name: string, unit: string, of: (usage: Usage) => number][] = [
    ['CPU of API and worker', 'ms', ({ api, worker }) => (api + worker) * 1000],
    ["Temporal's CPU", 'ms', ({ temporal }) => temporal * 1000],
    ["Postgres' CPU", 'ms', ({ postgres }) => postgres * 1000],
    ['commits', '', ({ commits }) => commits],
    ['WAL', 'KiB', ({ wal }) => wal / 1024],
    ['stored', 'KiB', ({ size }) => size / 1024],
  ];
  const rows = figures.map(([name, unit, of]) => [
    name,
    ...[of(plain), of(child), of(child) - of(plain)].map((value) => `${value.toFixed(1)} ${unit}`.trim()),
  ]);
  console.log(tableOf([['', 'turn', 'child', 'beyond a turn'], ...rows]));
}

const perOne = (usage: Usage, of: (value: number, key: keyof Usage) => number): Usage =>
  Object.fromEntries(Object.entries(usage).map(([key, value]) => [key, of(value, key as keyof Usage)])) as Usage;

/** What the other project meets: nothing, parents of a project that may have one turn, and as many turns without calls of a third one. */
async function neighbours(system: FaultSystem, samples: number): Promise<void> {
  const other = await Project.of(system, 'other', 100);
  const delegating = await Project.of(system, 'delegating', 1);
  const plain = await Project.of(system, 'plain', 100);
  const sides: [name: string, run: (() => Promise<unknown>) | null][] = [
    ['turn of another project', null],
    [`beside parents of ${MAX_OPEN_CHILDREN} children`, () => delegating.run(`parent of ${MAX_OPEN_CHILDREN}`)],
    [
      `beside ${MAX_OPEN_CHILDREN} turns of a third one`,
      () => inParallel(MAX_OPEN_CHILDREN, MAX_OPEN_CHILDREN, () => plain.run('plain')),
    ],
  ];
  const times = sides.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [n, [, run]] of sides.entries()) {
      let isOver = false;
      const beside = (async () => {
        while (run !== null && !isOver) await run();
      })();
      if (run !== null) await pause(1000);
      times[n]!.push(...(await timedEach(samples, () => other.run('plain'))));
      isOver = true;
      await beside;
    }
  }
  for (const [n, [name]] of sides.entries()) row(name, shown(times[n]!), n === 0 ? '' : ratios(times[n]!, times[0]!));
}
