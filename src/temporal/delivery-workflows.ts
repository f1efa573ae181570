import type { Client } from '@temporalio/client';
import {
  DELIVERY_SIGNALS,
  WEBHOOK_DELIVERY_WORKFLOW,
  webhookTaskQueue,
  type DeliveryInput,
} from '../../workflows/contract.js';
import { CALL_TIMEOUT_MS } from './connection.js';
import { deliverySearchAttributes } from './search-attributes.js';

/** The input of a delivery's workflow: ids only. */
export interface StartableDelivery {
  id: string;
  webhook_id: string;
  project_id: string;
  event_type: string;
  session_id: string | null;
  turn_id: string | null;
}

/** The workflows of deliveries: workflow id = delivery id. */
export interface DeliveryWorkflows {
  /** Starts the delivery's workflow. If it runs already, a signal makes it read its row again. */
  wake(delivery: StartableDelivery): Promise<void>;
}

interface DeliveryWorkflowOptions {
  /** The task queue of turns. Deliveries have a separate one derived from it. */
  taskQueue: string;
  /** True if the namespace has the search attributes. Checked at each start. */
  searchable: () => boolean;
}

export function createDeliveryWorkflows(client: Client, options: DeliveryWorkflowOptions): DeliveryWorkflows {
  return {
    async wake(delivery) {
      const input: DeliveryInput = { deliveryId: delivery.id };
      await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
        client.workflow.signalWithStart(WEBHOOK_DELIVERY_WORKFLOW, {
          workflowId: delivery.id,
          args: [input],
          signal: DELIVERY_SIGNALS.check,
          taskQueue: webhookTaskQueue(options.taskQueue),
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          priority: { fairnessKey: delivery.project_id },
          staticSummary: `${delivery.event_type} to ${delivery.webhook_id}`,
          staticDetails: [
            `**Project** ${delivery.project_id}`,
            `**Webhook** ${delivery.webhook_id}`,
            ...(delivery.turn_id === null
              ? []
              : [`**Session** ${delivery.session_id}`, `**Turn** ${delivery.turn_id}`]),
            'The signal `retry` sends it now, reset sends it again; cancel gives it up.',
          ].join('\n\n'),
          memo: {
            project: delivery.project_id,
            webhook: delivery.webhook_id,
            session: delivery.session_id,
            turn: delivery.turn_id,
          },
          ...(options.searchable() && { typedSearchAttributes: deliverySearchAttributes(delivery) }),
        }),
      );
    },
  };
}
