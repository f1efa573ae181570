import { SEARCH_ATTRIBUTES } from '../../workflows/contract.js';
import { withClient } from './with-client.js';

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

  missingSearchAttributes: () =>
    withClient(async (client, namespace) => {
      const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
      return Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in customAttributes));
    }),
};
