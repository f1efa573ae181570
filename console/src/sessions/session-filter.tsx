import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icon.js';
import { usePopover } from '../parts/use-popover.js';
import { CHIPS, type ListQuery } from './session-query.js';

const TYPING_PAUSE_MS = 200;

interface Props {
  query: ListQuery;
  onChange: (change: Partial<ListQuery>) => void;
}

export function SessionFilterFields({ query, onChange }: Props) {
  return (
    <div class="filters">
      <SearchField text={query.q} onChange={(q) => onChange({ q })} />
      <div class="chips" role="group" aria-label="Show">
        {CHIPS.map(({ id, label }) => (
          <button key={id} class="chip" aria-pressed={query.show === id} onClick={() => onChange({ show: id })}>
            {label}
          </button>
        ))}
      </div>
      <div class="chips">
        <MoreFilters key={`${query.metadata} ${query.from} ${query.to}`} query={query} onChange={onChange} />
        {query.agent !== '' && <Given text="of one agent" onRemove={() => onChange({ agent: '' })} />}
        {query.metadata !== '' && <Given text={query.metadata} onRemove={() => onChange({ metadata: '' })} />}
        {(query.from !== '' || query.to !== '') && (
          <Given
            text={`created ${query.from === '' ? '' : `from ${query.from}`} ${query.to === '' ? '' : `to ${query.to}`}`}
            onRemove={() => onChange({ from: '', to: '' })}
          />
        )}
      </div>
    </div>
  );
}

function SearchField({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label class="search">
      <Icon name="search" />
      <span class="visually-hidden">Search sessions by their first message</span>
      <input
        type="search"
        value={typed}
        maxLength={200}
        placeholder="Search first messages"
        onInput={(event) => {
          const next = event.currentTarget.value;
          setTyped(next);
          clearTimeout(timer.current);
          timer.current = window.setTimeout(() => onChange(next), TYPING_PAUSE_MS);
        }}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <kbd>/</kbd>
    </label>
  );
}

function Given({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <button class="chip" aria-pressed="true" onClick={onRemove}>
      {text} <Icon name="close" size={12} />
      <span class="visually-hidden">: remove the filter</span>
    </button>
  );
}

function MoreFilters({ query, onChange }: Props) {
  const popover = usePopover();
  return (
    <details ref={popover} class="picker below">
      <summary class="chip">
        <Icon name="plus" size={14} /> Filter
      </summary>
      <form
        class="popover form"
        aria-label="More filters"
        onSubmit={(event) => {
          event.preventDefault();
          const fields = new FormData(event.currentTarget);
          const [metadata, from, to] = ['metadata', 'from', 'to'].map((name) => (fields.get(name) as string).trim());
          onChange({ metadata: metadata!, from: from!, to: to! });
        }}
      >
        <label class="field">
          <span>Metadata</span>
          <input
            name="metadata"
            placeholder="key=value"
            pattern="[^=]+=.*"
            title="key=value"
            defaultValue={query.metadata}
          />
        </label>
        <label class="field">
          <span>Created from</span>
          <input name="from" type="date" defaultValue={query.from} />
        </label>
        <label class="field">
          <span>to</span>
          <input name="to" type="date" defaultValue={query.to} />
        </label>
        <button class="primary">Apply</button>
      </form>
    </details>
  );
}
