import { useState } from 'preact/hooks';
import type { McpServer, McpServerTool } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { Json } from '../parts/json.js';
import { Tabs } from '../parts/tabs.js';
import { ToolTrial } from './tool-trial.js';

const STATUSES = { offered: null, not_allowed: 'not allowed', held_back: 'held back' } as const;

/** The tools as agents get them: each with its description, its schema, and a form to try it. */
export function ServerTools({ server }: { server: McpServer }) {
  const client = useClient();
  // Another probe, or another choice of tools, shows other tools.
  const list = useList(
    (cursor, signal) => client.listMcpServerTools(server.id, { cursor, limit: 100 }, { signal }),
    [client, server.id, server.updated_at, server.last_probed_at, server.changed_tools.length],
  );
  return (
    <section class="section" aria-label="Tools">
      <h2>Tools</h2>
      <ErrorNote error={list.error} />
      {server.tools_left_out > 0 && (
        <p class="note">
          {server.tools_left_out.toLocaleString('en')} more tools of the server are left out. Agents get those that
          allowed_tools names (PATCH /v1/mcp-servers/{server.id}).
        </p>
      )}
      {list.items?.length === 0 && (
        <Empty title="The server offers no tools">Add tools to the server, then press Probe to read them again.</Empty>
      )}
      {list.items?.map((tool) => (
        <ServerTool key={tool.name} server={server} tool={tool} />
      ))}
      {list.hasMore && (
        <button type="button" disabled={list.busy} onClick={list.loadMore}>
          Show more
        </button>
      )}
    </section>
  );
}

function ServerTool({ server, tool }: { server: McpServer; tool: McpServerTool }) {
  const [isOpen, setOpen] = useState(false);
  const status = STATUSES[tool.status];
  return (
    <details class="server-tool" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="tool" size={14} />
        <code>{tool.name}</code>
        {status !== null && <span class="badge">{status}</span>}
        {tool.annotations?.readOnlyHint === true && <span class="badge">read only</span>}
        {tool.task_support !== null && <span class="badge">task</span>}
        <span class="hint clip">{tool.description}</span>
      </summary>
      {isOpen && (
        <div class="server-tool-body">
          {tool.description !== '' && <p>{tool.description}</p>}
          <Tabs
            label={`Tool ${tool.name}`}
            tabs={[
              { name: 'Try it', content: () => <ToolTrial server={server} tool={tool} /> },
              { name: 'Input schema', content: () => <Json value={tool.input_schema} label="Input schema" /> },
            ]}
          />
        </div>
      )}
    </details>
  );
}
