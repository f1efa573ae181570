import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { Notifier } from '../../src/stream/notify.js';
import { createLogger } from '../../src/platform/logger.js';
import { endTurn } from '../../src/turns/end.js';
import { text, wait } from '../support/scripted-model.js';
import { endOf, newSession, SECRET, type Path } from './path.js';

const BUNDLE = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/** Turns that end while one of their activities goes on. */
export const ABANDONED_PATHS: Path[] = [
  {
    // A worker took the activity and answers nothing, not even to the cancel.
    name: 'abandoned-activity',
    options: { workers: 0 },
    async play(scene) {
      const { service, client } = scene;
      const { taskQueue } = service.config;
      const connection = await NativeConnection.connect({ address: process.env.TEST_TEMPORAL_ADDRESS });
      const worker = await Worker.create({ connection, taskQueue, workflowBundle: { codePath: BUNDLE } });
      const run = worker.run();
      const sessionId = await newSession(scene);
      const turnId = await service.send(sessionId, SECRET);
      await client.withDeadline(Date.now() + 20_000, () =>
        client.workflowService.pollActivityTaskQueue({ namespace: 'default', taskQueue: { name: taskQueue } }),
      );
      await client.workflow.getHandle(turnId).cancel();
      while ((await pendingActivities(scene, turnId)) < 2) await new Promise((resolve) => setTimeout(resolve, 200));
      worker.shutdown();
      await run;
      await connection.close();
      await service.startWorker();
      return endOf(scene, sessionId, 'turn.cancelled');
    },
  },
  {
    // The turn was ended by another process; the activity's outcome is refused.
    name: 'turn-ended',
    async play(scene) {
      const { service } = scene;
      const gate = service.model.gate();
      service.model.reply([text(SECRET, { before: { 0: wait(gate) } })]);
      const sessionId = await newSession(scene);
      const turnId = await service.send(sessionId, SECRET);
      await gate.reached;
      const log = createLogger('silent', 'test');
      const { db } = service;
      const outcome = { kind: 'failed', type: 'internal_error', message: 'Test.', retryable: true } as const;
      await endTurn({ db, notifier: new Notifier(db, log), log }, turnId, outcome);
      gate.open();
      return endOf(scene, sessionId, 'turn.failed');
    },
  },
];

async function pendingActivities({ client }: Parameters<Path['play']>[0], turnId: string): Promise<number> {
  const { raw } = await client.workflow.getHandle(turnId).describe();
  return raw.pendingActivities?.length ?? 0;
}
