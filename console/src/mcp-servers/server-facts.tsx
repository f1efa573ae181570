import type { McpServer } from '../../../client/src/index.js';
import { CopyText } from '../parts/copy-text.js';
import { Time } from '../parts/time.js';

export function ServerFacts({ server }: { server: McpServer }) {
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
        <dt>Connected in a turn</dt>
        <dd>{server.last_connected_at === null ? 'never' : <Time at={server.last_connected_at} />}</dd>
      </dl>
    </>
  );
}
