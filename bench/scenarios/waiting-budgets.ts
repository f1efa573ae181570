import type { Turn } from '../../test/support/fault-system.js';
import { budget, PRICE, tokens } from '../../test/support/money.js';
import { message, steps, text, toolUse } from '../../test/support/scripted-model.js';
import {
  busyConnections,
  count,
  held,
  inParallel,
  pause,
  timed,
  until,
  usageOf,
  usedBetween,
  usedSlots,
} from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const REST_MS = 20_000;
const PARALLEL = 20;
const SAMPLE_MS = 1000;
/** Past the minute after which each workflow continues as new. */
const SETTLE_MS = 75_000;

export default scenario({
  measures: 'turns that wait for a larger budget: what they hold, what the waiting costs, and that each goes on once',
  options: { turns: 1000, seconds: 120 },
  async run(bench, { turns: wanted, seconds }) {
    const system = await bench.system({ ownPostgres: true, ownTemporal: { persistent: false }, price: PRICE });
    const { db, model } = system;
    await db.query('UPDATE projects SET max_running_turns = $1', [wanted + PARALLEL]);
    // The first call costs 0.3; the second one does not fit.
    model.on(/Spend/, steps(message([toolUse('list_files')], tokens(300)), message([text('Done.')], tokens(2))));
    const turns: Turn[] = [];
    let begun = 0;
    const start = async (): Promise<unknown> =>
      turns.push(await system.send(await system.session({ budget: budget('0.5', 'pause') }), 'Spend'));
    const waiting = (): Promise<number> =>
      count(db, `SELECT count(*) FROM required_actions WHERE kind = 'budget' AND state = 'open'`);
    const sample = async (ms: number) => {
      const samples: Record<'slots' | 'busy', number[]> = { slots: [], busy: [] };
      for (const end = performance.now() + ms; performance.now() < end;) {
        await pause(SAMPLE_MS);
        samples.slots.push(await usedSlots(system.workers[0]!.url));
        samples.busy.push(await busyConnections(db));
      }
      return samples;
    };

    // What the start does is over.
    await pause(REST_MS);
    const restBefore = await usageOf(system);
    await sample(REST_MS);
    const rest = [restBefore, await usageOf(system)] as [typeof restBefore, typeof restBefore];
    const startedMs = await timed(async () => {
      await inParallel(PARALLEL, () => begun++ < wanted, start);
      await until(async () => (await waiting()) === wanted);
    });
    row(`${wanted} turns wait for a larger budget`, `after ${(startedMs / 1000).toFixed(1)} s`);
    await pause(SETTLE_MS);

    const before = await usageOf(system);
    const samples = await sample(seconds * 1000);
    const used = usedBetween(before, await usageOf(system), rest);
    const perHour = (value: number, digits: number): string => ((value / used.seconds / wanted) * 3600).toFixed(digits);
    row('  slots of the worker in use, once a second', held(samples.slots), '0');
    row('  database connections that do something', held(samples.busy), '0');
    let pending = 0;
    for (const { turnId } of turns) {
      const { raw } = await system.client.workflow.getHandle(turnId).describe();
      pending += raw.pendingActivities?.length ?? 0;
    }
    row('  activities under way', String(pending), '0');
    row('for each turn and hour:', 'beside what an idle service uses');
    for (const part of ['worker', 'postgres', 'temporal'] as const)
      row(`  CPU seconds of ${part}`, perHour(used[part], 2));
    row('  transactions', perHour(used.commits, 0));

    const raisedMs = await timed(async () => {
      const left = [...turns];
      await inParallel(
        PARALLEL,
        () => left.length > 0,
        () => system.insist('PATCH', `/v1/sessions/${left.pop()!.sessionId}`, { budget: budget('1', 'pause') }),
      );
      await until(async () => (await count(db, `SELECT count(*) FROM turns WHERE state = 'completed'`)) === wanted);
    });
    const cost = await count(db, 'SELECT sum(cost) * 1000 AS count FROM turns');
    row('all raised and ended', `after ${(raisedMs / 1000).toFixed(1)} s`);
    row('  model calls', String(model.requests.length), String(2 * wanted));
    row('  cost of all, in thousandths', String(cost), String(302 * wanted));
  },
});
