import type { SessionFilter } from '../../../client/src/index.js';

const STATUSES = ['IDLE', 'RUNNING', 'COMPLETE', 'CANCELLED', 'FAILED'] as const;

interface Props {
  filter: SessionFilter;
  onChange: (filter: SessionFilter) => void;
}

export function SessionFilterFields({ filter, onChange }: Props) {
  return (
    <form
      class="filters"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        const text = (new FormData(event.currentTarget).get('metadata') as string).trim();
        const { metadata: _, ...others } = filter;
        onChange(text === '' ? others : { ...others, metadata: pairOf(text) });
      }}
    >
      <label>
        <span>Status </span>
        <select
          value={filter.status ?? ''}
          onChange={(event) => {
            const { status: _, ...others } = filter;
            const status = STATUSES.find((name) => name === event.currentTarget.value);
            onChange(status === undefined ? others : { ...others, status });
          }}
        >
          <option value="">Any</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      <label>
        <span>Metadata </span>
        <input name="metadata" placeholder="key=value" pattern="[^=]+=.*" title="key=value" />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={filter.requires_action === true}
          onChange={(event) => {
            const { requires_action: _, ...others } = filter;
            onChange(event.currentTarget.checked ? { ...others, requires_action: true } : others);
          }}
        />
        <span>Waiting for an answer</span>
      </label>
      <button>Apply</button>
    </form>
  );
}

function pairOf(text: string): Record<string, string> {
  const at = text.indexOf('=');
  return { [text.slice(0, at)]: text.slice(at + 1) };
}
