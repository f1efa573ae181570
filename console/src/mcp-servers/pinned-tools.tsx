import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { ChangedTool } from './changed-tool.js';

interface Props {
  server: McpServer;
  onChanged: (server: McpServer) => void;
}

/** Whether new and changed tools are held back, and those that are. */
export function PinnedTools({ server, onChanged }: Props) {
  const client = useClient();
  const pinning = useAction(async (pin: boolean) =>
    onChanged(await client.updateMcpServer(server.id, { pin_tools: pin })),
  );
  const accepting = useAction(async (name: string | null) =>
    onChanged(await client.acceptMcpTools(server.id, name === null ? undefined : [name])),
  );
  const changed = server.changed_tools;
  return (
    <section class="section" aria-label="Pinned tools">
      <label class="check">
        <input
          type="checkbox"
          checked={server.pin_tools}
          disabled={pinning.busy}
          onChange={(event) => pinning.run(event.currentTarget.checked)}
        />
        <span>
          Pin the tools <span class="hint">holds back new and changed tools until somebody accepts them</span>
        </span>
      </label>
      <ErrorNote error={pinning.error ?? accepting.error} />
      {changed.length > 0 && (
        <div class="note warning">
          <div class="page-head">
            <strong>{changed.length === 1 ? '1 tool is held back' : `${changed.length} tools are held back`}</strong>
            <button disabled={accepting.busy} onClick={() => accepting.run(null)}>
              Accept all
            </button>
          </div>
          {changed.map((tool) => (
            <ChangedTool key={tool.name} tool={tool} busy={accepting.busy} onAccept={() => accepting.run(tool.name)} />
          ))}
        </div>
      )}
    </section>
  );
}
