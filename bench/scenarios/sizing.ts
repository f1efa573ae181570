import type { FaultSystem } from '../../test/support/fault-system.js';
import { message, text, toolUse } from '../../test/support/scripted-model.js';
import { inParallel, pause, timed, usageOf, usedBetween, type Usage } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const AT_ONCE = 8;
/** A connection that is idle reports its statistics to Postgres after 10 s. */
const SETTLED_MS = 11_000;
const IDLE_MS = 21_000;

export default scenario({
  measures: 'what a turn costs each part, as docs/operations/sizing.md counts it; 8 turns at a time',
  options: { turns: 300 },
  async run(bench, { turns: most }) {
    const system = await bench.system({ ownPostgres: true, ownTemporal: { persistent: true } });
    const { model } = system;
    model.on(/no tool/, text('ok'));
    model.on(/one tool/, ({ body }) =>
      body.messages.some(({ role }) => role === 'assistant') ? text('done') : message([toolUse('list_files', {})]),
    );
    model.on(/28 s/, text('one two three four five', { every: 7_000 }));
    await run(system, 'no tool', 50);
    const idle: [Usage, Usage] = [await settled(system), await settled(system, IDLE_MS)];
    const [start, end] = idle;
    row('idle', `${((end.commits - start.commits) / (end.seconds - start.seconds)).toFixed(1)} commits/s`);
    for (const [content, turns] of [
      ['no tool', most],
      ['one tool', most],
      ['a call of 28 s', AT_ONCE],
    ] as const) {
      const [before, asked] = [await settled(system), await requests(system)];
      const ms = await timed(() => run(system, content, turns));
      const [after, answered] = [await settled(system), await requests(system)];
      const used = usedBetween(before, after, idle);
      const each = (key: keyof Usage, factor = 1): string => ((used[key] / turns) * factor).toFixed(1);
      row(`a turn with ${content}`, `${(turns / (ms / 1000)).toFixed(1)}/s`);
      for (const part of ['api', 'worker', 'temporal', 'postgres'] as const)
        row(`  CPU of ${part}`, `${each(part, 1000)} ms`);
      row('  commits', each('commits'));
      row('  WAL', `${each('wal', 1 / 1024)} KiB`);
      row('  stored', `${each('size', 1 / 1024)} KiB`);
      const inPlace = ((used.updatesInPlace / used.updates) * 100).toFixed(0);
      row("  updates of the turn's row", `${each('updates')}, ${inPlace} % in place`);
      for (const [name, count] of answered) {
        const sent = (count - (asked.get(name) ?? 0)) / turns;
        if (sent > 0.1 && !name.startsWith('Poll')) row(`  worker to Temporal: ${name}`, sent.toFixed(1));
      }
    }
  },
});

async function settled(system: FaultSystem, ms = SETTLED_MS): Promise<Usage> {
  await pause(ms);
  return usageOf(system);
}

/** Requests of the worker to Temporal so far, by operation. */
async function requests({ workers }: FaultSystem): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const metrics = await (await fetch(`${workers[0]!.url}/metrics`)).text();
  for (const [, labels, count] of metrics.matchAll(/^temporal_request_total\{(.*)\} (\d+)/gm)) {
    const name = /operation="(\w+)"/.exec(labels!)![1]!;
    counts.set(name, (counts.get(name) ?? 0) + Number(count));
  }
  return counts;
}

async function run(system: FaultSystem, content: string, turns: number): Promise<void> {
  await inParallel(AT_ONCE, turns, async () => {
    const { ended } = await system.stream(await system.send(await system.session(), content));
    await ended;
  });
}
