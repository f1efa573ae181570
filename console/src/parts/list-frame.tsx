import type { ComponentChildren } from 'preact';
import type { List } from '../client/use-list.js';
import { ErrorNote } from './error-note.js';

interface Props<Item> {
  list: List<Item>;
  /** Names the list for a screen reader. */
  label: string;
  empty: ComponentChildren;
  row: (item: Item) => ComponentChildren;
}

export function ListFrame<Item>({ list, label, empty, row }: Props<Item>) {
  const { items, error, hasMore, busy, loadMore, reload } = list;
  return (
    <div class="list" aria-busy={busy}>
      <ErrorNote error={error} />
      {error !== null && (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
      {items === null && error === null && <p class="hint">Loading …</p>}
      {items?.length === 0 && (hasMore ? <p class="hint">Nothing found among the newest.</p> : empty)}
      {items !== null && items.length > 0 && (
        <ul class="rows" aria-label={label}>
          {items.map(row)}
        </ul>
      )}
      {hasMore && (
        <button type="button" disabled={busy} onClick={loadMore}>
          Show more
        </button>
      )}
    </div>
  );
}

interface LinkRowProps {
  href: string;
  title: string;
  children: ComponentChildren;
}

export function LinkRow({ href, title, children }: LinkRowProps) {
  return (
    <li>
      <a class="row" href={href}>
        <span class="row-title">{title}</span>
        {children}
      </a>
    </li>
  );
}
