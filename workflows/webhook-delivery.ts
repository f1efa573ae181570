import {
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { DeliveryActivities } from '../activities/webhooks/delivery-activities.js';
import { DELIVERY_SIGNALS, type DeliveryInput } from './contract.js';

const { sendDelivery } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 s',
  retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '5 minutes' },
  summary: 'request to the receiver',
});

const { abandonDelivery } = proxyActivities<DeliveryActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '1 s', maximumInterval: '1 minute' },
  summary: 'given up',
});

/** A delivery that nothing wakes looks at its row by itself this long after its attempt is due: the row may be gone. */
const MAX_LATE_MS = 24 * 3_600_000;

const check = defineSignal(DELIVERY_SIGNALS.check);
const retry = defineSignal(DELIVERY_SIGNALS.retry);

/** Makes attempts until the event is delivered, the retry schedule is used up, or the workflow is cancelled. */
export async function webhookDelivery({ deliveryId }: DeliveryInput): Promise<void> {
  // The row decides when an attempt is due, except for a run's first one: it is always made, so that resetting a
  // delivery in Temporal sends it again.
  let force = true;
  let isWoken = false;
  setHandler(check, () => void (isWoken = true));
  setHandler(retry, () => void (isWoken = force = true));
  try {
    for (;;) {
      const input = { deliveryId, force };
      isWoken = force = false;
      const { state, nextAfterMs } = await sendDelivery(input);
      setCurrentDetails(nextAfterMs === null ? state : 'waits for its next attempt');
      // The reconciler wakes it when it is due: many deliveries of one project then do not come at once.
      if (nextAfterMs !== null) await condition(() => isWoken, nextAfterMs + MAX_LATE_MS);
      else if (!isWoken) return;
    }
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => abandonDelivery({ deliveryId }));
    throw error;
  }
}
