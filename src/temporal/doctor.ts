import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';
import { temporalSettings } from './connection.js';
import { temporalHealth } from './health.js';

const DEADLINE_MS = 10_000;
/** Enough that the limit of polls a second is felt, and few enough to be done within the deadline. */
const PROBES = 12;

/** What doctor asks Temporal; each call opens and closes a connection of its own. */
export const temporalQuestions = {
  /** Resolves with the namespace's name and how long it keeps closed workflows. */
  namespace: () =>
    withClient(async (client, namespace) => {
      const { config } = await client.workflowService.describeNamespace({ namespace });
      const days = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400;
      return { namespace, days };
    }),

  /** The search attributes of turns that the namespace lacks. */
  missingSearchAttributes: () =>
    withClient(async (client, namespace) => {
      const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
      return Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in customAttributes));
    }),

  /** Whether any worker polls the task queue. */
  isPolled: (taskQueue: string) =>
    withClient(async (client, namespace) => (await temporalHealth(client, namespace, taskQueue)).worker === 'ok'),

  /**
   * Milliseconds from the start of a workflow until its first task reaches a poller, beyond the way of two requests: what
   * the server itself takes. The workflows have a task queue of their own and are terminated at once.
   */
  dispatchMs: () =>
    withClient(async (client, namespace) => {
      const { workflowService } = client;
      const name = `doctor-${randomUUID()}`;
      const taskQueue = { name };
      const trips: number[] = [];
      const took: number[] = [];
      for (let n = 0; n < PROBES; n += 1) {
        const asked = performance.now();
        await workflowService.describeNamespace({ namespace });
        trips.push(performance.now() - asked);
        const polled = workflowService.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'doctor' });
        const began = performance.now();
        const handle = await client.workflow.start('doctor', { workflowId: `${name}-${n}`, taskQueue: name });
        await polled;
        took.push(performance.now() - began);
        await handle.terminate('doctor has measured it');
      }
      return Math.max(0, median(took) - 2 * median(trips));
    }),
};

const median = (samples: number[]): number => samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)]!;

async function withClient<T>(work: (client: Client, namespace: string) => Promise<T>): Promise<T> {
  const { connectionOptions, namespace } = temporalSettings();
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: DEADLINE_MS });
  try {
    const client = new Client({ connection, namespace });
    return await client.withDeadline(Date.now() + DEADLINE_MS, () => work(client, namespace));
  } finally {
    await connection.close();
  }
}
