import { useState } from 'preact/hooks';
import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useAnnounce } from '../parts/announcer.js';
import { CheckList } from '../parts/check-list.js';
import { ErrorNote } from '../parts/error-note.js';

interface Props {
  server: McpServer;
  onSaved: (server: McpServer) => void;
}

export function AllowedTools({ server, onSaved }: Props) {
  const client = useClient();
  const announce = useAnnounce();
  const names = server.tools.map(({ name }) => name);
  const [allowed, setAllowed] = useState(server.allowed_tools ?? names);
  const saving = useAction(async () => {
    const all = names.every((name) => allowed.includes(name));
    onSaved(await client.updateMcpServer(server.id, { allowed_tools: all ? null : allowed }));
    announce('Saved');
  });
  if (names.length === 0) return null;
  return (
    <form class="form" onSubmit={(event) => (event.preventDefault(), saving.run())}>
      <fieldset>
        <legend>Tools that agents may use</legend>
        <CheckList
          options={server.tools.map(({ name }) => ({ value: name, label: name }))}
          selected={allowed}
          onChange={setAllowed}
        />
      </fieldset>
      <ErrorNote error={saving.error} />
      <div class="actions">
        <button disabled={saving.busy || allowed.length === 0}>Save</button>
      </div>
    </form>
  );
}
