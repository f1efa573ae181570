import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { useAnnounce } from '../parts/announcer.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { PageHead, UnreadPage } from '../parts/page-head.js';
import { ServerStatus } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { navigate } from '../route.js';
import { AllowedTools } from './allowed-tools.js';
import { Authorization } from './authorization.js';
import { CalledAs } from './called-as.js';
import { RequiredApprovals } from './required-approvals.js';
import { PinnedTools } from './pinned-tools.js';
import { ServerTools } from './server-tools.js';
import { toolCount } from './tool-count.js';

export function McpServerView({ id }: { id: string }) {
  const client = useClient();
  const announce = useAnnounce();
  const { value: server, error, replace } = useLoad((signal) => client.getMcpServer(id, { signal }), [client, id]);
  const probing = useAction(async () => {
    const probed = await client.probeMcpServer(id);
    replace(probed);
    announce(`The server has ${toolCount(probed)}`);
  });
  const remove = async (): Promise<void> => {
    await client.deleteMcpServer(id);
    navigate('/mcp-servers');
  };
  if (server === null) return <UnreadPage title="MCP server" error={error} />;
  return (
    <>
      <PageHead title={server.name} back="#/mcp-servers">
        <ServerStatus server={server} />
        <a class="button" href={`#/sessions/new?server=${id}`}>
          <Icon name="message" /> Try it in a session
        </a>
        <button disabled={probing.busy} onClick={() => probing.run()}>
          {probing.busy ? 'Connecting …' : 'Probe'}
        </button>
        <ConfirmButton label="Delete" question={`Delete the server ${server.name}?`} onConfirm={remove}>
          <p>Sessions that use it lose its tools from their next turn on.</p>
        </ConfirmButton>
      </PageHead>
      <ErrorNote error={probing.error} />
      {server.auth.type === 'OAUTH' && <Authorization server={server} onChanged={replace} />}
      <ServerFacts server={server} />
      <ServerTools server={server} />
      <CalledAs server={server} onChanged={replace} />
      <PinnedTools server={server} onChanged={replace} />
      <RequiredApprovals key={`approvals ${server.updated_at}`} server={server} onSaved={replace} />
      <AllowedTools key={server.updated_at + server.last_probed_at} server={server} onSaved={replace} />
    </>
  );
}

function ServerFacts({ server }: { server: McpServer }) {
  const { auth } = server;
  return (
    <>
      {server.last_connect_error !== null && (
        <p class="note error">
          <strong>The latest connection failed</strong> {server.last_connect_error}
        </p>
      )}
      <dl class="fact-list">
        <dt>Address</dt>
        <dd>
          <code>{server.url}</code>
        </dd>
        <dt>Id</dt>
        <dd>
          <CopyText text={server.id} label="server id" />
        </dd>
        <dt>Calls itself</dt>
        <dd>{server.server_name ?? 'unknown'}</dd>
        <dt>Credential</dt>
        <dd>{auth.name === null ? auth.type.toLowerCase() : `header ${auth.name}`}</dd>
        <dt>Probed</dt>
        <dd>{server.last_probed_at === null ? 'never' : <Time at={server.last_probed_at} />}</dd>
        <dt>{server.credentials === 'user' ? 'Used by' : 'Connected in a turn'}</dt>
        <dd>
          <LastUse server={server} />
        </dd>
      </dl>
    </>
  );
}

function LastUse({ server: { credentials, last_connected_at: at } }: { server: McpServer }) {
  // Turns connect to it as its users: each connection of theirs has its last use.
  if (credentials === 'user') return <a href="#/connections">its users</a>;
  return at === null ? 'never' : <Time at={at} />;
}
