import { useEffect } from 'preact/hooks';
import type { Credential } from '../../../client/src/index.js';
import { useClient, useService } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useList } from '../client/use-list.js';
import { useLoad } from '../client/use-load.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Status } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { UserFilter, useUserFilter } from '../parts/user-filter.js';
import { AuthorizationLink, useOpenAuthorization } from './authorization-link.js';

/** While a person authorizes in another tab. */
const REFRESH_INTERVAL_MS = 3_000;

/** As which users agents may act at which servers, for all users or for one. */
export function ConnectionsView({ query }: { query: URLSearchParams }) {
  const client = useClient();
  const { project, key_name: keyName } = useService().config;
  const [user, setUser] = useUserFilter(query);
  const list = useList(
    (cursor, signal) => client.listCredentials({ cursor, limit: 50, ...(user !== '' && { user }) }, { signal }),
    [client, user],
  );
  const { value: servers } = useLoad((signal) => Array.fromAsync(client.eachMcpServer({}, { signal })), [client]);
  const isPending = list.items?.some(({ auth }) => auth.status === 'authorization_required') === true;
  useEffect(() => {
    if (!isPending) return;
    const timer = setInterval(() => document.hidden || list.reload(), REFRESH_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isPending, list.items]);
  const removeAll = async (): Promise<void> => {
    await client.deleteCredentials({ user });
    list.reload();
  };
  return (
    <>
      <PageHead title="Connections">
        {user !== '' && (
          <ConfirmButton label="Delete all" question={`Delete all connections of ${user}?`} onConfirm={removeAll}>
            <p>Calls of this user’s agents then wait until the user connects again.</p>
          </ConfirmButton>
        )}
        <a class="button primary" href={`#/connections/new${user === '' ? '' : `?user=${encodeURIComponent(user)}`}`}>
          <Icon name="plus" /> Connect a user
        </a>
      </PageHead>
      <p class="hint">
        Servers whose credential is the user’s are called as the person for whom a session acts. Shown with{' '}
        {keyName === null ? 'this key' : `the key “${keyName}”`}
        {project !== null && ` of ${project}`}: reading needs <code>mcp_servers:read</code>, changing{' '}
        <code>mcp_servers:write</code>.
      </p>
      <UserFilter user={user} onChange={setUser} />
      <ListFrame
        list={list}
        label="Connections"
        empty={
          <Empty title={user === '' ? 'No user is connected' : `${user} is not connected`} icon="link">
            A call that needs a connection waits, and “Waiting for you” shows it with a button to connect.
          </Empty>
        }
        row={(credential) => (
          <Row
            key={credential.id}
            credential={credential}
            serverName={servers?.find(({ id }) => id === credential.mcp_server_id)?.name ?? credential.mcp_server_id}
            onChanged={list.reload}
          />
        )}
      />
    </>
  );
}

interface RowProps {
  credential: Credential;
  serverName: string;
  onChanged: () => void;
}

function Row({ credential, serverName, onChanged }: RowProps) {
  const client = useClient();
  const { id, user, auth, mcp_server_id: serverId, last_used_at: usedAt, last_error: failure } = credential;
  const { address, open } = useOpenAuthorization();
  const isPending = auth.status === 'authorization_required';
  const authorizing = useAction(async () => {
    open((await client.authorizeCredential(id)).auth.authorization_url);
    onChanged();
  });
  const remove = async (): Promise<void> => {
    await client.deleteCredential(id);
    onChanged();
  };
  return (
    <li class="row">
      <span class="row-title">{user}</span>
      <a href={`#/mcp-servers/${serverId}`}>{serverName}</a>
      {isPending && <Status look="waiting">Not authorized yet</Status>}
      {!isPending && failure !== null && <Status look="failed">Refused</Status>}
      {!isPending && failure === null && <Status look="complete">Connected</Status>}
      <span class="hint">
        {auth.name === null ? auth.type.toLowerCase() : `header ${auth.name}`} ·{' '}
        {usedAt === null ? (
          'not used yet'
        ) : (
          <>
            used <Time at={usedAt} />
          </>
        )}
      </span>
      <CopyText text={id} label={`id of the connection of ${user}`} />
      {auth.type === 'OAUTH' && (
        <button disabled={authorizing.busy} onClick={() => authorizing.run()}>
          {isPending ? 'Connect' : 'Connect again'}
          <span class="visually-hidden">
            {' '}
            {user} to {serverName}
          </span>
        </button>
      )}
      <ConfirmButton
        label="Delete"
        subject={`${user} at ${serverName}`}
        question={`Delete the connection of ${user} to ${serverName}?`}
        onConfirm={remove}
      >
        <p>Calls then wait until the user connects again.</p>
      </ConfirmButton>
      {isPending && <AuthorizationLink address={address} />}
      {failure !== null && <p class="row-more note error">{failure}</p>}
      <ErrorNote error={authorizing.error} />
    </li>
  );
}
