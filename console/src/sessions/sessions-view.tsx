import { useEffect, useRef, useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { PageHead } from '../parts/page-head.js';
import { replaceQuery } from '../route.js';
import { SessionFilterFields } from './session-filter.js';
import { filterOf, isFiltered, readQuery, searchOf } from './session-query.js';
import { SessionTable } from './session-table.js';

const PAGE = 100;
const REFRESH_INTERVAL_MS = 10_000;

export function SessionsView({ query: given }: { query: URLSearchParams }) {
  const client = useClient();
  const [query, setQuery] = useState(() => readQuery(given));
  // A link to another filter, opened in this view.
  const address = useRef(given.toString());
  if (address.current !== given.toString()) {
    address.current = given.toString();
    setQuery(readQuery(given));
  }
  useEffect(() => replaceQuery({ ...query }), [query]);
  const filter = filterOf(query);
  const list = useList(
    (cursor, signal) => client.listSessions({ cursor, limit: PAGE, ...filter }, { signal }),
    [client, JSON.stringify(filter)],
  );
  useRefresh(list.items !== null && list.items.length <= PAGE && !list.busy, list.reload);
  const { items, error } = list;
  return (
    <>
      <PageHead title="Sessions">
        <button onClick={list.reload} disabled={list.busy}>
          <Icon name="refresh" /> Refresh
        </button>
        <a class="button primary" href="#/sessions/new">
          <Icon name="plus" /> New session
        </a>
      </PageHead>
      <SessionFilterFields query={query} onChange={(change) => setQuery((before) => ({ ...before, ...change }))} />
      <ErrorNote error={error} />
      {error !== null && (
        <button type="button" class="self-start" onClick={list.reload}>
          Try again
        </button>
      )}
      {items === null && error === null && <TableSkeleton />}
      {items?.length === 0 && (isFiltered(query) ? <NothingFound /> : <NoSessions />)}
      {items !== null && items.length > 0 && (
        <SessionTable
          sessions={items}
          order={query.order === 'created' ? 'created' : 'activity'}
          busy={list.busy}
          hasMore={list.hasMore}
          search={searchOf(query)}
          onOrder={(order) => setQuery((before) => ({ ...before, order: order === 'created' ? 'created' : '' }))}
          onMetadata={(metadata) => setQuery((before) => ({ ...before, metadata }))}
          onEnd={list.loadMore}
        />
      )}
    </>
  );
}

/** Looks for changes while only the first page is shown: longer lists would lose the reader's place. */
function useRefresh(active: boolean, reload: () => void): void {
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, REFRESH_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [active, reload]);
}

function TableSkeleton() {
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">Loading …</span>
      {Array.from({ length: 8 }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

function NoSessions() {
  return (
    <Empty title="There are no sessions yet" icon="sessions">
      A session is a conversation with an agent. <a href="#/sessions/new">Start the first one</a>
    </Empty>
  );
}

function NothingFound() {
  return (
    <Empty title="No session matches" icon="search">
      The search looks into the first 120 characters of the first message. To find a value such as a customer’s number,
      use + Filter → Metadata: <code>customer=42</code>.
    </Empty>
  );
}
