import { useEffect } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Icon } from '../parts/icon.js';
import { SessionStatus } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { navigate } from '../route.js';
import { describeQuery, filterOf, isFiltered, searchOf, type ListQuery } from '../sessions/session-query.js';
import { titleOf } from '../sessions/title.js';
import { useKeys } from '../shell/use-keys.js';

const REFRESH_INTERVAL_MS = 10_000;

interface Props {
  current: string;
  /** The filter of the list from which the session was opened. */
  query: ListQuery;
}

/** The first sessions of the list, beside the conversation. J and K go to the next and the previous one. */
export function SessionList({ current, query }: Props) {
  const client = useClient();
  const search = searchOf(query);
  const list = useList(
    (_, signal) => client.listSessions({ limit: 40, ...filterOf(query) }, { signal }),
    [client, search],
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) list.reload();
    }, REFRESH_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [list.reload]);
  const items = list.items ?? [];
  const go = (by: number): void => {
    const at = items.findIndex(({ id }) => id === current);
    const next = items[Math.min(Math.max(0, at + by), items.length - 1)];
    if (next !== undefined) navigate(`/sessions/${next.id}${search}`);
  };
  useKeys({ j: () => go(1), k: () => go(-1) });
  return (
    <aside class="session-list" aria-label="Recent sessions">
      <div class="list-head">
        <a class="list-title" href={`#/sessions${search}`}>
          Sessions
        </a>
        <a class="button quiet" href="#/sessions/new" aria-label="New session" title="New session">
          <Icon name="plus" />
        </a>
      </div>
      {isFiltered(query) && (
        <p class="hint list-filter">
          {describeQuery(query)}{' '}
          <a href={`#/sessions/${current}`} title="Show the sessions that were active last">
            Show all
          </a>
        </p>
      )}
      <ul>
        {items.map((session) => (
          <li key={session.id}>
            <a href={`#/sessions/${session.id}${search}`} aria-current={session.id === current ? 'page' : undefined}>
              <span class="clip list-name">{titleOf(session)}</span>
              <span class="list-facts">
                <SessionStatus session={session} short />
                <Time at={session.updated_at} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </aside>
  );
}
