import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createLogger } from '../../src/platform/logger.js';
import { ensureSearchAttributes, searchAttributesOf } from '../../src/temporal/search-attributes.js';
import { startTemporalServer } from '../../test/support/temporal.js';
import { cpuOf, inParallel, median } from '../measure.js';
import { scenario } from '../scenario.js';
import { EXTRAS, type Extra } from '../share/extras.js';
import { row } from '../table.js';

const TASK_QUEUE = 'share';
const AT_ONCE = 32;
const WARM_UP = 400;
const BARE: Extra[] = [];

/** CPU time of the server, the sides in turns, so that other work on the machine disturbs little. */
export default scenario({
  measures:
    "what each thing that a turn gives its workflow beyond a bare one costs Temporal's server: CPU, each alone and all",
  options: { turns: 320, rounds: 3 },
  async run(bench, { turns, rounds }) {
    const logger = new DefaultLogger('WARN');
    Runtime.install({ logger });
    const server = await startTemporalServer();
    bench.atEnd(() => server.stop());
    const connection = await NativeConnection.connect({ address: server.address });
    bench.atEnd(() => connection.close());
    const client = new Client({ connection });
    await ensureSearchAttributes(client, 'default', createLogger('silent', 'bench'));
    const worker = await Worker.create({
      connection,
      taskQueue: TASK_QUEUE,
      workflowBundle: await bundleWorkflowCode({
        logger,
        workflowsPath: fileURLToPath(new URL('../share/workflow.ts', import.meta.url)),
      }),
      activities: { work: async () => undefined },
      maxConcurrentActivityTaskExecutions: 200,
      maxConcurrentWorkflowTaskExecutions: 100,
    });
    const running = worker.run();
    bench.atEnd(async () => {
      worker.shutdown();
      await running;
    });
    const run = (extras: Extra[], count: number): Promise<unknown> =>
      inParallel(AT_ONCE, count, () => client.workflow.execute('shareTurn', optionsOf(extras)));
    await run([...EXTRAS], WARM_UP);
    const sides: [string, Extra[]][] = [
      ['bare', BARE],
      ...EXTRAS.map((extra): [string, Extra[]] => [extra, [extra]]),
      ['all', [...EXTRAS]],
    ];
    const measured = new Map<string, number[]>(sides.map(([name]) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, extras] of sides) {
        const before = cpuOf(server.pid);
        await run(extras, turns);
        measured.get(name)!.push(((cpuOf(server.pid) - before) * 1_000) / turns);
      }
    }
    const bare = median(measured.get('bare')!);
    for (const [name, ms] of measured)
      row(
        name,
        `${median(ms).toFixed(1)} ms, ${(median(ms) / bare).toFixed(2)} × (${ms.map((one) => one.toFixed(1)).join(', ')})`,
      );
  },
});

function optionsOf(extras: Extra[]): Parameters<Client['workflow']['execute']>[1] {
  const has = (extra: Extra): boolean => extras.includes(extra);
  const ids = { projectId: 'prj_0123456789abcdef0123', sessionId: `ses_${randomUUID()}`, modelId: 'scripted-1' };
  return {
    ...{ workflowId: randomUUID(), taskQueue: TASK_QUEUE, args: [extras], requestEagerStart: true },
    ...(has('search attributes') && { typedSearchAttributes: searchAttributesOf(ids) }),
    ...(has('static summary and details') && {
      staticSummary: `turn of ${ids.sessionId}`,
      staticDetails: `**Project** ${ids.projectId}\n\n**Session** ${ids.sessionId}\n\n**Model** ${ids.modelId}`,
    }),
    ...(has('priority (fairness key)') && { priority: { fairnessKey: ids.projectId } }),
    ...(has('execution timeout') && { workflowExecutionTimeout: '2 days' }),
  };
}
