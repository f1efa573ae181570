import type { WebhookDelivery } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { CopyText } from '../parts/copy-text.js';
import { ErrorNote } from '../parts/error-note.js';
import { formatDuration } from '../parts/format.js';
import { Time } from '../parts/time.js';

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

export function DeliveryRow({ webhookId, delivery, onRetried }: Props) {
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
      <span class={`status ${style}`}>{label}</span>
      <span class="hint">
        <Time at={delivery.created_at} />
        {next !== null && (
          <>
            {' '}
            · next attempt <Time at={next} />
          </>
        )}
      </span>
      <CopyText text={id} label="delivery id" />
      <button class="quiet" disabled={retrying.busy} onClick={() => retrying.run()}>
        Send again
        <span class="visually-hidden"> {id}</span>
      </button>
      <ErrorNote error={retrying.error} />
      {attempts.length > 0 && (
        <details class="row-more">
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
