import type { RetryEvent } from '../../../client/src/index.js';
import { Time } from '../parts/time.js';

export function RetryNotice({ notice: { reason, attempt, retry_at: at } }: { notice: RetryEvent }) {
  return (
    <p class="note warning">
      <strong>{reason}</strong> The model did not answer ({attempt === 1 ? 'once' : `${attempt} times`}). It is called
      again <Time at={at} />.
    </p>
  );
}
