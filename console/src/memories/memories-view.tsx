import type { Memory } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { Empty } from '../parts/empty.js';
import { countOf, formatBytes } from '../parts/format.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Time } from '../parts/time.js';
import { UserFilter, useUserFilter } from '../parts/user-filter.js';

/** Whose memory it is, for people. */
export function ownerOf({ user, agent_id: agent }: Memory): string {
  const parts = [user, agent === null ? null : `with ${agent}`].filter((part) => part !== null);
  return parts.length === 0 ? 'The project' : parts.join(' ');
}

/** What agents keep between sessions, of all users or of one. */
export function MemoriesView({ query }: { query: URLSearchParams }) {
  const client = useClient();
  const [user, setUser] = useUserFilter(query);
  const list = useList(
    (cursor, signal) => client.listMemories({ cursor, limit: 50, ...(user !== '' && { user }) }, { signal }),
    [client, user],
  );
  const eraseAll = async (): Promise<void> => {
    await client.deleteMemories({ user });
    list.reload();
  };
  return (
    <>
      <PageHead title="Memories">
        {user !== '' && (
          <ConfirmButton label="Erase all" question={`Erase all memories of ${user}?`} onConfirm={eraseAll}>
            <p>Their files and all versions are gone for good. Sessions keep their events.</p>
          </ConfirmButton>
        )}
        <a class="button" href="#/erasures">
          Erase a person
        </a>
      </PageHead>
      <p class="hint">
        Files that agents keep between sessions. What stands here comes back in later sessions: look at it now and then.
      </p>
      <UserFilter user={user} onChange={setUser} />
      <ListFrame
        list={list}
        label="Memories"
        empty={
          <Empty title={user === '' ? 'There are no memories yet' : `There is no memory of ${user}`}>
            An agent makes one with the first file that it writes. Its session needs an entry <code>memory</code> in its
            tools.
          </Empty>
        }
        row={(memory) => (
          <LinkRow key={memory.id} href={`#/memories/${memory.id}`} title={ownerOf(memory)}>
            <span class="hint">
              {countOf(memory.file_count, 'file')} · {formatBytes(memory.size_bytes)} · changed{' '}
              <Time at={memory.updated_at} />
            </span>
          </LinkRow>
        )}
      />
    </>
  );
}
