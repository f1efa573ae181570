import { useEffect } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { ListFrame } from '../parts/list-frame.js';
import { DeliveryRow } from './delivery-row.js';

const REFRESH_INTERVAL_MS = 3_000;

export function Deliveries({ webhookId }: { webhookId: string }) {
  const client = useClient();
  const list = useList(
    (cursor, signal) => client.listWebhookDeliveries(webhookId, { cursor, limit: 20 }, { signal }),
    [client, webhookId],
  );
  const isDue = list.items?.some(
    ({ state, next_attempt_at: next }) =>
      state === 'pending' && (next === null || Date.parse(next) < Date.now() + REFRESH_INTERVAL_MS),
  );
  useEffect(() => {
    if (isDue !== true) return;
    const timer = setTimeout(list.reload, REFRESH_INTERVAL_MS);
    return () => clearTimeout(timer);
  }, [list.items, isDue]);

  return (
    <section aria-labelledby="deliveries">
      <div class="page-head">
        <h2 id="deliveries">Deliveries</h2>
        <button disabled={list.busy} onClick={list.reload}>
          Refresh
        </button>
      </div>
      <ListFrame
        list={list}
        label="Deliveries"
        empty={<Empty title="Nothing has been sent yet">Press “Send a test” to try the receiver.</Empty>}
        row={(delivery) => (
          <DeliveryRow key={delivery.id} webhookId={webhookId} delivery={delivery} onRetried={list.reload} />
        )}
      />
    </section>
  );
}
