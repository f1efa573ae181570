import { Client, Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';
import { temporalSettings } from './connection.js';

const DEADLINE_MS = 10_000;

/** The checks that doctor runs against Temporal. Each call opens and closes its own connection. */
export const temporalQuestions = {
  /** Resolves with the namespace's name, how long it keeps closed workflows, and the server's version. */
  namespace: () =>
    withClient(async (client, namespace) => {
      const { config } = await client.workflowService.describeNamespace({ namespace });
      const days = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400;
      const { serverVersion } = await client.workflowService.getSystemInfo({});
      return { namespace, days, serverVersion };
    }),

  /** The search attributes of turns that are missing in the namespace. */
  missingSearchAttributes: () =>
    withClient(async (client, namespace) => {
      const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
      return Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in customAttributes));
    }),
};

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
