import { useState } from 'preact/hooks';
import type { SessionFilter, Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { SessionStatus } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { SessionFilterFields } from './session-filter.js';

export function SessionsView() {
  const client = useClient();
  const [filter, setFilter] = useState<SessionFilter>({});
  const list = useList(
    (cursor, signal) => client.listSessions({ cursor, limit: 50, ...filter }, { signal }),
    [client, filter],
  );
  return (
    <>
      <PageHead title="Sessions">
        <button onClick={list.reload} disabled={list.busy}>
          Refresh
        </button>
        <a class="button primary" href="#/sessions/new">
          New session
        </a>
      </PageHead>
      <SessionFilterFields filter={filter} onChange={setFilter} />
      <ListFrame
        list={list}
        label="Sessions"
        empty={Object.keys(filter).length > 0 ? <NothingFound /> : <NoSessions />}
        row={(session) => <SessionRow key={session.id} session={session} />}
      />
    </>
  );
}

function NoSessions() {
  return (
    <Empty title="There are no sessions yet">
      A session is a conversation with an agent. <a href="#/sessions/new">Start the first one</a>
    </Empty>
  );
}

function NothingFound() {
  return (
    <Empty title="No session matches">
      A session waits for an answer when its agent calls a tool that asks first, or a tool of yours.
    </Empty>
  );
}

/** A session in the list. `metadata.title` or its first message names it, the other pairs stand beside it. */
function SessionRow({ session }: { session: Session }) {
  const { title, ...others } = session.metadata;
  return (
    <LinkRow href={`#/sessions/${session.id}`} title={title ?? session.preview ?? session.id}>
      <SessionStatus session={session} />
      <span class="hint">
        {session.model_id} · <Time at={session.updated_at} />
      </span>
      {session.queue.length > 0 && (
        <span class="tag">
          {session.queue.length} {session.queue.state === 'held' ? 'held' : 'waiting'}
        </span>
      )}
      {title !== undefined && session.preview !== null && <span class="row-more hint">{session.preview}</span>}
      {Object.entries(others).map(([key, value]) => (
        <span key={key} class="tag">
          {key}: {value}
        </span>
      ))}
    </LinkRow>
  );
}
