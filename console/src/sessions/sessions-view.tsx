import type { Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Status } from '../parts/status.js';
import { Time } from '../parts/time.js';

export function SessionsView() {
  const client = useClient();
  const list = useList((cursor, signal) => client.listSessions({ cursor, limit: 50 }, { signal }), [client]);
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
      <ListFrame
        list={list}
        label="Sessions"
        empty={
          <Empty title="There are no sessions yet">
            A session is a conversation with an agent. <a href="#/sessions/new">Start the first one</a>
          </Empty>
        }
        row={(session) => <SessionRow key={session.id} session={session} />}
      />
    </>
  );
}

function SessionRow({ session }: { session: Session }) {
  const { id, status, model_id: model, metadata, updated_at: updatedAt } = session;
  const { title, ...others } = metadata;
  return (
    <li>
      <a class="row" href={`#/sessions/${id}`}>
        <span class="row-title">{title ?? id}</span>
        <Status status={status} />
        <span class="hint">
          {model} · <Time at={updatedAt} />
        </span>
        {Object.entries(others).map(([key, value]) => (
          <span key={key} class="tag">
            {key}: {value}
          </span>
        ))}
      </a>
    </li>
  );
}
