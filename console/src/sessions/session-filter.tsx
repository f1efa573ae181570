import type { SessionFilter } from '../../../client/src/index.js';
import { Checkbox } from '../parts/fields.js';

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
        const fields = new FormData(event.currentTarget);
        const [text, from, to] = ['metadata', 'from', 'to'].map((name) => (fields.get(name) as string).trim());
        const { metadata: _, created_after: _from, created_before: _to, ...others } = filter;
        onChange({
          ...others,
          ...(text && { metadata: pairOf(text) }),
          ...(from && { created_after: new Date(midnight(from).getTime() - 1).toISOString() }),
          ...(to && { created_before: midnight(to, 1).toISOString() }),
        });
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
      <label>
        <span>Created from </span>
        <input name="from" type="date" />
      </label>
      <label>
        <span>to </span>
        <input name="to" type="date" />
      </label>
      <Checkbox
        label="Waiting for an answer"
        checked={filter.requires_action === true}
        onChange={(checked) => {
          const { requires_action: _, ...others } = filter;
          onChange(checked ? { ...others, requires_action: true } : others);
        }}
      />
      <button>Apply</button>
    </form>
  );
}

/** The begin of a day of the reader's, or of one of the days after it. */
function midnight(day: string, daysLater = 0): Date {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  return new Date(year, month - 1, date + daysLater);
}

function pairOf(text: string): Record<string, string> {
  const at = text.indexOf('=');
  return { [text.slice(0, at)]: text.slice(at + 1) };
}
