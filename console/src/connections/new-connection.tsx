import { useState } from 'preact/hooks';
import type { McpServer, NewCredential } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { ActionForm } from '../parts/action-form.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { SelectField, TextField } from '../parts/fields.js';
import { PageHead } from '../parts/page-head.js';
import { navigate } from '../route.js';
import { useOpenAuthorization } from './authorization-link.js';
import { USER_PATTERN, USER_TITLE } from './user-field.js';

type Auth = NewCredential['auth'];
type Kind = Auth['type'];

const KINDS: readonly (readonly [Kind, string])[] = [
  ['OAUTH', 'OAuth: the user authorizes'],
  ['BEARER', 'Bearer token'],
  ['HEADER', 'Header of its own'],
];

export function NewConnection({ query }: { query: URLSearchParams }) {
  const client = useClient();
  const { value, error } = useLoad((signal) => Array.fromAsync(client.eachMcpServer({}, { signal })), [client]);
  const servers = value?.filter(({ credentials }) => credentials === 'user');
  return (
    <>
      <PageHead title="Connect a user" back="#/connections" />
      <ErrorNote error={error} />
      {servers?.length === 0 && (
        <Empty title="No server is called as its user" icon="server">
          Set “Called as” of an <a href="#/mcp-servers">MCP server</a> to “the user of the session” first.
        </Empty>
      )}
      {servers !== undefined && servers.length > 0 && (
        <ConnectionForm servers={servers} user={query.get('user') ?? ''} serverId={query.get('server')} />
      )}
    </>
  );
}

function ConnectionForm(given: { servers: McpServer[]; user: string; serverId: string | null }) {
  const { servers } = given;
  const client = useClient();
  const [user, setUser] = useState(given.user);
  const [serverId, setServerId] = useState(given.serverId ?? servers[0]!.id);
  const server = servers.find(({ id }) => id === serverId);
  const [kind, setKind] = useState<Kind | null>(null);
  const [name, setName] = useState('');
  const [secret, setSecret] = useState('');
  const { open } = useOpenAuthorization();
  // With the server’s own registration as a client: other servers take a token.
  const kinds = KINDS.filter(([type]) => type !== 'OAUTH' || server?.auth.type === 'OAUTH');
  const type = kinds.find(([each]) => each === kind)?.[0] ?? kinds[0]![0];
  const connecting = useAction(async () => {
    const { auth } = await client.putCredential({
      mcp_server_id: serverId,
      user,
      auth: type === 'OAUTH' ? { type } : type === 'BEARER' ? { type, token: secret } : { type, name, value: secret },
    });
    open(auth.authorization_url);
    navigate(`/connections?user=${encodeURIComponent(user)}`);
  });
  return (
    <ActionForm action={connecting} submit={type === 'OAUTH' ? 'Connect' : 'Store'} back="#/connections">
      <TextField
        label="User"
        hint="As your back end names the person: the user of their sessions"
        required
        pattern={USER_PATTERN}
        title={USER_TITLE}
        autocomplete="off"
        value={user}
        onChange={setUser}
      />
      <SelectField
        label="MCP server"
        value={serverId}
        options={servers.map(({ id, name: label }) => [id, label] as const)}
        onChange={setServerId}
      />
      <SelectField label="Credential" value={type} options={kinds} onChange={setKind} />
      {type === 'HEADER' && <TextField label="Header name" required value={name} onChange={setName} />}
      {type !== 'OAUTH' && (
        <TextField
          label={type === 'BEARER' ? 'Token' : 'Header value'}
          hint="Stored encrypted, and never shown again"
          type="password"
          autocomplete="off"
          required
          value={secret}
          onChange={setSecret}
        />
      )}
    </ActionForm>
  );
}
