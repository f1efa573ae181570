import type { NewWebhook } from '../../../client/src/index.js';
import { EventTypesField } from './event-types-field.js';

interface Props {
  webhook: NewWebhook;
  onChange: (webhook: NewWebhook) => void;
}

export function WebhookFields({ webhook, onChange }: Props) {
  return (
    <>
      <label class="field">
        <span>Address</span>
        <input
          required
          type="url"
          placeholder="https://example.com/hook"
          value={webhook.url}
          onInput={(event) => onChange({ ...webhook, url: event.currentTarget.value })}
        />
        <span class="hint">It must be https and public. Answer with a 2xx status within 15 seconds.</span>
      </label>
      <label class="field">
        <span>Description</span>
        <input
          placeholder="Optional"
          value={webhook.description ?? ''}
          onInput={(event) => onChange({ ...webhook, description: event.currentTarget.value || null })}
        />
      </label>
      <EventTypesField
        selected={webhook.event_types}
        onChange={(types) => onChange({ ...webhook, event_types: types })}
      />
    </>
  );
}
