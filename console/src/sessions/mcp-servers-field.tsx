import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { GroupsField } from '../keys/groups-field.js';
import { CheckList } from '../parts/check-list.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox } from '../parts/fields.js';
import { ASK_NOTHING, type AskingByServer, allowedToolNames, type Asking } from './session-tools.js';
import { toolCount } from '../mcp-servers/tool-count.js';

interface Props {
  selected: string[];
  asking: AskingByServer;
  onSelect: (serverIds: string[]) => void;
  onAsking: (asking: AskingByServer) => void;
}

/** The MCP servers of a session, and which of their tools need a person's permission. */
export function McpServersField({ selected, asking, onSelect, onAsking }: Props) {
  const client = useClient();
  const { value, error } = useLoad((signal) => Array.fromAsync(client.eachMcpServer({}, { signal })), [client]);
  const servers = value ?? [];
  return (
    <fieldset>
      <legend>MCP servers</legend>
      <ErrorNote error={error} />
      {value?.length === 0 && (
        <p class="hint">
          No server is registered. <a href="#/mcp-servers/new">Register one</a> to give the agent its tools.
        </p>
      )}
      <CheckList
        options={servers.map((server) => ({ value: server.id, label: server.name, hint: toolCount(server) }))}
        selected={selected}
        onChange={onSelect}
      />
      {servers
        .filter(({ id }) => selected.includes(id))
        .map((server) => (
          <ToolPermissions
            key={server.id}
            server={server}
            asking={asking[server.id] ?? ASK_NOTHING}
            onChange={(changed) => onAsking({ ...asking, [server.id]: changed })}
          />
        ))}
    </fieldset>
  );
}

interface ToolPermissionsProps {
  server: McpServer;
  asking: Asking;
  onChange: (asking: Asking) => void;
}

function ToolPermissions({ server, asking, onChange }: ToolPermissionsProps) {
  const { all, names, elicitation } = asking;
  const permissions = all ? 'asks before every call' : names.length > 0 ? `asks before ${names.length}` : 'runs all';
  const summary = elicitation ? `${permissions}, may ask you` : permissions;
  return (
    <details>
      <summary>
        Permissions of {server.name} <span class="hint">{summary}</span>
      </summary>
      <fieldset>
        <legend>Ask a person before {server.name} runs</legend>
        <Checkbox
          label="every tool"
          hint="also those that the server adds later"
          checked={all}
          onChange={(on) => onChange({ ...asking, all: on })}
        />
        {!all && (
          <CheckList
            options={allowedToolNames(server).map((name) => ({ value: name, label: name }))}
            selected={names}
            onChange={(selected) => onChange({ ...asking, names: selected })}
          />
        )}
        {(all || names.length > 0) && (
          <GroupsField
            label="Who decides"
            hint="Approver groups; without any, every key that may approve."
            value={asking.approvers}
            onChange={(approvers) => onChange({ ...asking, approvers })}
          />
        )}
        <Checkbox
          label="may ask you questions"
          hint="during a call, with a form or an address"
          checked={asking.elicitation}
          onChange={(elicitation) => onChange({ ...asking, elicitation })}
        />
      </fieldset>
    </details>
  );
}
