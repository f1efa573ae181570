import type { ApiKey } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { KeyStatus } from './key-status.js';

/** The keys of the project, revoked ones too. */
export function KeysView() {
  const client = useClient();
  const list = useList((cursor, signal) => client.listKeys({ cursor, limit: 50 }, { signal }), [client]);
  return (
    <>
      <PageHead title="Keys">
        <a class="button primary" href="#/keys/new">
          New key
        </a>
      </PageHead>
      <p class="hint">
        Reading needs <code>keys:read</code>, making and revoking <code>keys:write</code>. The{' '}
        <a href="#/audit-log">audit log</a> says what was done with them.
      </p>
      <ListFrame
        list={list}
        label="Keys"
        empty={<Empty title="There are no keys">An operator makes the first one with a command.</Empty>}
        row={(key) => <KeyRow key={key.id} apiKey={key} />}
      />
    </>
  );
}

function KeyRow({ apiKey }: { apiKey: ApiKey }) {
  const { id, name, scopes, approver_groups: groups } = apiKey;
  return (
    <LinkRow href={`#/keys/${id}`} title={name ?? id}>
      <KeyStatus apiKey={apiKey} />
      <span class="hint">
        {scopes.join(', ')}
        {groups.length > 0 && ` · approves for ${groups.join(', ')}`}
      </span>
    </LinkRow>
  );
}
