import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { ServerStatus } from '../parts/status.js';
import { toolCount } from './tool-count.js';

export function McpServersView() {
  const client = useClient();
  const list = useList((cursor, signal) => client.listMcpServers({ cursor, limit: 50 }, { signal }), [client]);
  return (
    <>
      <PageHead title="MCP servers">
        <a class="button primary" href="#/mcp-servers/new">
          Register a server
        </a>
      </PageHead>
      <ListFrame
        list={list}
        label="MCP servers"
        empty={
          <Empty title="No server is registered">
            An MCP server gives agents tools: a ticket system, a database, a search.{' '}
            <a href="#/mcp-servers/new">Register the first one</a>
          </Empty>
        }
        row={(server) => <ServerRow key={server.id} server={server} />}
      />
    </>
  );
}

function ServerRow({ server }: { server: McpServer }) {
  const { id, name, url } = server;
  return (
    <LinkRow href={`#/mcp-servers/${id}`} title={name}>
      <ServerStatus server={server} />
      <span class="hint">
        {url} · {toolCount(server)}
      </span>
    </LinkRow>
  );
}
