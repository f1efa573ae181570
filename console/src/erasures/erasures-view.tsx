import { useEffect, useState } from 'preact/hooks';
import type { Erasure } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { USER_PATTERN, USER_TITLE } from '../connections/user-field.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { Empty } from '../parts/empty.js';
import { Checkbox, TextField } from '../parts/fields.js';
import { countOf } from '../parts/format.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Status } from '../parts/status.js';
import { Time } from '../parts/time.js';

/** While an erasure runs. */
const REFRESH_INTERVAL_MS = 2_000;

/** Erases persons, and shows how far that is. */
export function ErasuresView({ query }: { query: URLSearchParams }) {
  const client = useClient();
  const [user, setUser] = useState(query.get('user') ?? '');
  const [attached, setAttached] = useState(false);
  const list = useList((cursor, signal) => client.listErasures({ cursor, limit: 50 }, { signal }), [client]);
  const isRunning = list.items?.some(({ status }) => status === 'running') === true;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => document.hidden || list.reload(), REFRESH_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isRunning, list.items]);
  const erase = async (): Promise<void> => {
    await client.createErasure({ user, attached_files: attached });
    setUser('');
    list.reload();
  };
  return (
    <>
      <PageHead title="Erasures" back="#/memories" />
      <p class="hint">
        Deletes everything that the project stores of a person: schedules, sessions, files, credentials, memories, and
        their metadata in usage. It cannot be undone.
      </p>
      <form class="form" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label="User"
          pattern={USER_PATTERN}
          title={USER_TITLE}
          autocomplete="off"
          value={user}
          onChange={setUser}
        />
        <Checkbox
          label="Also attached files"
          hint="the files that messages attached, whoever else names them"
          checked={attached}
          onChange={setAttached}
        />
        <div class="actions">
          {new RegExp(`^${USER_PATTERN}$`).test(user) && (
            <ConfirmButton label="Erase" question={`Erase everything of ${user}?`} onConfirm={erase}>
              <p>Open turns end. From now on these sessions take no message.</p>
            </ConfirmButton>
          )}
        </div>
      </form>
      <ListFrame
        list={list}
        label="Erasures"
        empty={<Empty title="Nobody was erased yet">An erasure names the person for 30 days after its end.</Empty>}
        row={(erasure) => <Row key={erasure.id} erasure={erasure} />}
      />
    </>
  );
}

function Row({ erasure }: { erasure: Erasure }) {
  const { id, user, status, sessions, credentials, memories, files, created_at: createdAt } = erasure;
  const gone = [
    countOf(sessions, 'session'),
    countOf(files, 'file'),
    countOf(credentials, 'credential'),
    memories === 1 ? '1 memory' : `${memories} memories`,
  ];
  return (
    <li class="row">
      <span class="row-title">{user ?? 'A person'}</span>
      {status === 'running' ? <Status look="running">Running</Status> : <Status look="complete">Done</Status>}
      <span class="hint">{gone.join(', ')} gone</span>
      <span class="hint">
        begun <Time at={createdAt} />
      </span>
      <CopyText text={id} label="id of the erasure" />
    </li>
  );
}
