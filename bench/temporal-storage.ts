/**
 * Measures the cost of keeping Temporal's state in a file: runs a workflow with one activity on two embedded servers, one
 * on a file and one in memory, alternating. Run `npx tsx bench/temporal-storage.ts`; it fails above 1.2 ×.
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { removeAfterUs } from '../temporal-dev/server-process.js';
import { startTemporal } from '../temporal-dev/temporal-server.js';

const ROUNDS = 20;
const PER_ROUND = 10;
const WARM_UP = 50;
const TASK_QUEUE = 'noop';
const LIMIT = 1.2;

interface Side {
  name: string;
  samples: number[];
  run(): Promise<void>;
  stop(): Promise<void>;
}

async function openSide(name: string, persistent: boolean, workflowBundle: WorkflowBundleWithSourceMap): Promise<Side> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agent-session-service-bench-'));
  chmodSync(dataDir, 0o711);
  removeAfterUs(dataDir);
  const temporal = await startTemporal({ dataDir, persistent, ui: false });
  const connection = await NativeConnection.connect({ address: temporal.address });
  const worker = await Worker.create({
    connection,
    taskQueue: TASK_QUEUE,
    workflowBundle,
    activities: { noop: async () => undefined },
  });
  const ended = worker.run();
  const client = new Client({ connection });
  return {
    name,
    samples: [],
    run: () =>
      client.workflow.execute('noopWorkflow', {
        workflowId: randomUUID(),
        taskQueue: TASK_QUEUE,
        requestEagerStart: true,
      }),
    stop: async () => {
      worker.shutdown();
      await ended;
      await connection.close();
      await temporal.server.kill();
    },
  };
}

function quantile(samples: number[], q: number): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length * q)]!;
}

const logger = new DefaultLogger('WARN');
Runtime.install({ logger });
const bundle = await bundleWorkflowCode({
  logger,
  workflowsPath: fileURLToPath(new URL('noop-workflow.ts', import.meta.url)),
});
const sides = [await openSide('memory', false, bundle), await openSide('file', true, bundle)];
for (const side of sides) for (let i = 0; i < WARM_UP; i++) await side.run();
for (let round = 0; round < ROUNDS; round++) {
  for (const side of sides) {
    for (let i = 0; i < PER_ROUND; i++) {
      const started = performance.now();
      await side.run();
      side.samples.push(performance.now() - started);
    }
  }
}
for (const { name, samples } of sides) {
  console.log(
    `${name.padEnd(6)} p50 ${quantile(samples, 0.5).toFixed(1)} ms, p95 ${quantile(samples, 0.95).toFixed(1)} ms (${samples.length} runs)`,
  );
}
const ratio = quantile(sides[1]!.samples, 0.5) / quantile(sides[0]!.samples, 0.5);
console.log(`file / memory: ${ratio.toFixed(2)} × (limit ${LIMIT} ×)`);
await Promise.all(sides.map((side) => side.stop()));
process.exitCode = ratio <= LIMIT ? 0 : 1;
