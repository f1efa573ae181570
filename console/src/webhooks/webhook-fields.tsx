import type { NewWebhook, Webhook } from '../../../client/src/index.js';
import { CheckList } from '../parts/check-list.js';

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

type EventType = Webhook['event_types'][number];

const EVENT_TYPES: Record<EventType, string> = {
  'turn.completed': 'a turn has ended normally',
  'turn.cancelled': 'a turn was cancelled',
  'turn.failed': 'a turn has failed',
  'agent.requires_action': 'a session waits for an answer',
  'agent.file': 'the agent has delivered a file',
};

interface EventTypesFieldProps {
  selected: EventType[];
  onChange: (selected: EventType[]) => void;
}

function EventTypesField({ selected, onChange }: EventTypesFieldProps) {
  return (
    <fieldset>
      <legend>Events</legend>
      <CheckList
        options={Object.entries(EVENT_TYPES).map(([value, hint]) => ({ value, label: value, hint }))}
        selected={selected}
        onChange={(chosen) => onChange(chosen as EventType[])}
      />
    </fieldset>
  );
}
