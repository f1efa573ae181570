import type { Webhook } from '../../../client/src/index.js';
import { CheckList } from '../parts/check-list.js';

type EventType = Webhook['event_types'][number];

const EVENT_TYPES: Record<EventType, string> = {
  'turn.completed': 'a turn has ended normally',
  'turn.cancelled': 'a turn was cancelled',
  'turn.failed': 'a turn has failed',
  'agent.requires_action': 'a session waits for an answer',
  'agent.file': 'the agent has delivered a file',
};

interface Props {
  selected: EventType[];
  onChange: (selected: EventType[]) => void;
}

export function EventTypesField({ selected, onChange }: Props) {
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
