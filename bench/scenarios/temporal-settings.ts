import type { FaultSystem } from '../../test/support/fault-system.js';
import { message, text, toolUse } from '../../test/support/scripted-model.js';
import { RECOMMENDED, startTemporalCluster } from '../../test/support/temporal-cluster.js';
import { median, quantile } from '../measure.js';
import { scenario } from '../scenario.js';
import { compare, type Figures } from '../table.js';

const STEPS = 11;
const { 'system.enableActivityEagerExecution': eager, ...polls } = RECOMMENDED;
const VARIANTS: Record<string, Record<string, number | boolean>> = {
  defaults: {},
  eager: { 'system.enableActivityEagerExecution': eager },
  polls,
  both: RECOMMENDED,
};

export default scenario({
  measures:
    "a turn and a tool step on a Temporal server with Postgres persistence and 128 shards: the server's defaults, eager activities, poll rates, and both, as docs/operations/temporal.md recommends",
  options: { turns: 60 },
  async run(bench, { turns }) {
    const postgres = await bench.postgres();
    process.env.TEST_DATABASE_URL = postgres.adminUrl;
    const measured: Record<string, Figures> = {};
    for (const [name, dynamicConfig] of Object.entries(VARIANTS)) {
      const cluster = await startTemporalCluster(postgres.adminUrl, { dynamicConfig, shards: 128 });
      process.env.TEST_TEMPORAL_ADDRESS = cluster.address;
      const system = await bench.system();
      measured[name] = await measure(system, turns);
      await system.close();
      await cluster.stop();
    }
    const rows = ['turn, median', 'turn, p95', 'tool step, median'] as const;
    compare(
      rows.map((figure) => [figure, 'ms', {}]),
      measured,
    );
  },
});

async function measure(system: FaultSystem, count: number): Promise<Figures> {
  system.model.on(/one token/, text('ok'));
  system.model.on(/use a tool/, ({ body }) => {
    const steps = body.messages.filter(({ role }) => role === 'assistant').length;
    return steps < STEPS ? message([toolUse('list_files', {})]) : text('done');
  });
  const turns: number[] = [];
  const steps: number[] = [];
  for (let n = 0; n < 10; n += 1) await turn(system, 'one token');
  for (let n = 0; n < count; n += 1) turns.push(await turn(system, 'one token'));
  for (let n = 0; n < 8; n += 1) steps.push(((await turn(system, 'use a tool')) - median(turns)) / STEPS);
  return { 'turn, median': median(turns), 'turn, p95': quantile(turns, 0.95), 'tool step, median': median(steps) };
}

/** Milliseconds from the message to the end of its turn. */
async function turn(system: FaultSystem, content: string): Promise<number> {
  const sessionId = await system.session();
  const began = performance.now();
  const stream = await system.stream(await system.send(sessionId, content));
  const last = await stream.until(({ event }) => event === 'turn.completed');
  await stream.ended;
  return last.at - began;
}
