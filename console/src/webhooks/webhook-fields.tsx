import type { NewWebhook, Webhook } from '../../../client/src/index.js';
import { CheckList } from '../parts/check-list.js';
import { TextField } from '../parts/fields.js';

type EventType = Webhook['event_types'][number];

const EVENT_TYPES: Record<EventType, string> = {
  'turn.completed': 'a turn has ended normally',
  'turn.cancelled': 'a turn was cancelled',
  'turn.failed': 'a turn has failed',
  'agent.requires_action': 'a session waits for an answer',
  'agent.file': 'the agent has delivered a file',
};

interface Props {
  webhook: NewWebhook;
  onChange: (webhook: NewWebhook) => void;
}

export function WebhookFields({ webhook, onChange }: Props) {
  return (
    <>
      <TextField
        label="Address"
        hint="It must be https and public, or in MCP_ALLOWED_HOSTS. Answer with a 2xx status within 15 seconds."
        required
        type="url"
        placeholder="https://example.com/hook"
        value={webhook.url}
        onChange={(url) => onChange({ ...webhook, url })}
      />
      <TextField
        label="Description"
        placeholder="Optional"
        value={webhook.description ?? ''}
        onChange={(description) => onChange({ ...webhook, description: description || null })}
      />
      <fieldset>
        <legend>Events</legend>
        <CheckList
          options={Object.entries(EVENT_TYPES).map(([value, hint]) => ({ value, label: value, hint }))}
          selected={webhook.event_types}
          onChange={(types) => onChange({ ...webhook, event_types: types as EventType[] })}
        />
      </fieldset>
    </>
  );
}
