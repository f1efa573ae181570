/**
 * Measures a turn and a tool step on a Temporal server with Postgres persistence and 128 shards: with the server's
 * defaults, and with the settings that docs/operations/temporal.md recommends. Run `npx tsx bench/temporal-settings.ts`.
 * The API and the worker are separate processes.
 */
import { startFaultSystem, type FaultSystem } from '../test/support/fault-system.js';
import { startPostgres } from '../test/support/postgres.js';
import { message, text, toolUse } from '../test/support/scripted-model.js';
import { RECOMMENDED, startTemporalCluster } from '../test/support/temporal-cluster.js';
import { row } from './support/in-process.js';
import { median, quantile } from './support/run.js';

const STEPS = 11;
const { 'system.enableActivityEagerExecution': eager, ...polls } = RECOMMENDED;
const VARIANTS: Record<string, Record<string, number | boolean>> = {
  defaults: {},
  'eager activities': { 'system.enableActivityEagerExecution': eager },
  'poll rates': polls,
  'both (recommended)': RECOMMENDED,
};

async function turn(system: FaultSystem, content: string): Promise<number> {
  const sessionId = await system.session();
  const began = performance.now();
  const sent = await system.send(sessionId, content);
  const stream = await system.stream(sent);
  const last = await stream.until(({ event }) => event === 'turn.completed');
  await stream.ended;
  return last.at - began;
}

const postgres = await startPostgres();
process.env.TEST_DATABASE_URL = postgres.adminUrl;
for (const [name, dynamicConfig] of Object.entries(VARIANTS)) {
  const cluster = await startTemporalCluster(postgres.adminUrl, dynamicConfig);
  process.env.TEST_TEMPORAL_ADDRESS = cluster.address;
  const system = await startFaultSystem();
  system.model.on(/one token/, text('ok'));
  system.model.on(/use a tool/, (request) => {
    const steps = request.body.messages.filter(({ role }) => role === 'assistant').length;
    return steps < STEPS ? message([toolUse('list_files', {})]) : text('done');
  });
  for (let n = 0; n < 10; n += 1) await turn(system, 'one token');
  const turns: number[] = [];
  const steps: number[] = [];
  for (let n = 0; n < 60; n += 1) turns.push(await turn(system, 'one token'));
  for (let n = 0; n < 8; n += 1) steps.push(((await turn(system, 'use a tool')) - median(turns)) / STEPS);
  row(`turn, ${name}`, `${median(turns).toFixed(0)} ms, p95 ${quantile(turns, 0.95).toFixed(0)} ms`);
  row(`tool step, ${name}`, `${median(steps).toFixed(0)} ms`);
  await system.close();
  await cluster.stop();
}
await postgres.stop();
process.exit(0);
