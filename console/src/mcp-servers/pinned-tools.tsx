import { ApiError, type McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox } from '../parts/fields.js';
import { ChangedTool } from './changed-tool.js';

interface Props {
  server: McpServer;
  onChanged: (server: McpServer) => void;
}

export function PinnedTools({ server, onChanged }: Props) {
  const client = useClient();
  const pinning = useAction(async (pin: boolean) =>
    onChanged(await client.updateMcpServer(server.id, { pin_tools: pin })),
  );
  const accepting = useAction(async (digests: Record<string, string>) => {
    try {
      onChanged(await client.acceptMcpTools(server.id, { digests }));
    } catch (error) {
      // Shows what the tools are now, beside the reason why they were not accepted.
      if (error instanceof ApiError && error.is('tools_changed')) onChanged(await client.getMcpServer(server.id));
      throw error;
    }
  });
  const changed = server.changed_tools;
  const shown = changed.filter(({ after }) => after.input_schema !== null);
  return (
    <section class="section" aria-label="Pinned tools">
      <Checkbox
        label="Pin the tools"
        hint="holds back new and changed tools until somebody accepts them"
        checked={server.pin_tools}
        disabled={pinning.busy}
        onChange={pinning.run}
      />
      <ErrorNote error={pinning.error ?? accepting.error} />
      {changed.length > 0 && (
        <div class="note warning">
          <div class="page-head">
            <strong>{changed.length === 1 ? '1 tool is held back' : `${changed.length} tools are held back`}</strong>
            <button
              disabled={accepting.busy || shown.length === 0}
              onClick={() => accepting.run(Object.fromEntries(shown.map(({ name, digest }) => [name, digest])))}
            >
              Accept all
            </button>
          </div>
          {shown.length < changed.length && (
            <p class="hint">Tools that are too large for this list must be opened, and accepted one by one.</p>
          )}
          {changed.map((tool) => (
            <ChangedTool
              key={`${tool.name}/${tool.digest}`}
              serverId={server.id}
              tool={tool}
              busy={accepting.busy}
              onAccept={(digest) => accepting.run({ [tool.name]: digest })}
            />
          ))}
        </div>
      )}
    </section>
  );
}
