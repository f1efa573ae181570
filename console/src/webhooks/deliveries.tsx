import { useEffect } from 'preact/hooks';
import type { WebhookDelivery } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useList } from '../client/use-list.js';
import { CopyText } from '../parts/copy-text.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { formatDuration } from '../parts/format.js';
import { ListFrame } from '../parts/list-frame.js';
import { Status } from '../parts/status.js';
import { Time } from '../parts/time.js';

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

const STATUS = {
  pending: ['running', 'Pending'],
  delivered: ['complete', 'Delivered'],
  failed: ['failed', 'Failed'],
} as const;

interface Props {
  webhookId: string;
  delivery: WebhookDelivery;
  onRetried: () => void;
}

function DeliveryRow({ webhookId, delivery, onRetried }: Props) {
  const client = useClient();
  const { id, event_type: type, state, attempts, next_attempt_at: next } = delivery;
  const retrying = useAction(async () => {
    await client.retryWebhookDelivery(webhookId, id);
    onRetried();
  });
  const [style, label] = STATUS[state];
  return (
    <li class="row">
      <span class="row-title">{type}</span>
      <Status look={style}>{label}</Status>
      <span class="hint">
        <Time at={delivery.created_at} />
        {next !== null && (
          <>
            {' '}
            · next attempt <Time at={next} />
          </>
        )}
      </span>
      {delivery.session_id !== null && (
        <a href={`#/sessions/${delivery.session_id}${delivery.turn_id === null ? '' : `?turn=${delivery.turn_id}`}`}>
          its turn
        </a>
      )}
      <CopyText text={id} label="delivery id" />
      <button class="quiet" disabled={retrying.busy} onClick={() => retrying.run()}>
        Send again
        <span class="visually-hidden"> {id}</span>
      </button>
      <ErrorNote error={retrying.error} />
      {attempts.length > 0 && (
        <details class="row-more" open={state !== 'delivered'}>
          <summary>{attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`}</summary>
          <ul>
            {attempts.map(({ at, status, error, duration_ms: ms }) => (
              <li key={at}>
                <Time at={at} />: {status ?? 'no answer'} after {formatDuration(ms)}
                {error !== null && ` (${error})`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
