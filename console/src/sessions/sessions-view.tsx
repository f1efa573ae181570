import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { SessionRow } from './session-row.js';

export function SessionsView() {
  const client = useClient();
  const [waiting, setWaiting] = useState(false);
  const list = useList(
    (cursor, signal) =>
      client.listSessions({ cursor, limit: 50, ...(waiting && { requires_action: 'true' }) }, { signal }),
    [client, waiting],
  );
  return (
    <>
      <PageHead title="Sessions">
        <label class="check">
          <input type="checkbox" checked={waiting} onChange={(event) => setWaiting(event.currentTarget.checked)} />
          <span>Waiting for an answer</span>
        </label>
        <button onClick={list.reload} disabled={list.busy}>
          Refresh
        </button>
        <a class="button primary" href="#/sessions/new">
          New session
        </a>
      </PageHead>
      <ListFrame
        list={list}
        label="Sessions"
        empty={waiting ? <NothingWaits /> : <NoSessions />}
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

function NothingWaits() {
  return (
    <Empty title="No session waits for an answer">
      A session appears here when its agent calls a tool that asks first, or a tool of yours.
    </Empty>
  );
}
