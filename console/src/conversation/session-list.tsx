import { useEffect } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Icon } from '../parts/icon.js';
import { SessionStatus } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { navigate } from '../route.js';
import { titleOf } from '../sessions/title.js';
import { useKeys } from '../shell/use-keys.js';

const REFRESH_INTERVAL_MS = 10_000;

/** The sessions that were active last, beside the conversation. J and K go to the next and the previous one. */
export function SessionList({ current }: { current: string }) {
  const client = useClient();
  const list = useList((_, signal) => client.listSessions({ order: 'activity', limit: 40 }, { signal }), [client]);
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
    if (next !== undefined) navigate(`/sessions/${next.id}`);
  };
  useKeys({ j: () => go(1), k: () => go(-1) });
  return (
    <aside class="session-list" aria-label="Recent sessions">
      <div class="list-head">
        <a class="list-title" href="#/sessions">
          Sessions
        </a>
        <a class="button quiet" href="#/sessions/new" aria-label="New session" title="New session">
          <Icon name="plus" />
        </a>
      </div>
      <ul>
        {items.map((session) => (
          <li key={session.id}>
            <a href={`#/sessions/${session.id}`} aria-current={session.id === current ? 'page' : undefined}>
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
