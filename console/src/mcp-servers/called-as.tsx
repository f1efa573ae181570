import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useAnnounce } from '../parts/announcer.js';
import { ErrorNote } from '../parts/error-note.js';
import { SelectField } from '../parts/fields.js';

type Credentials = McpServer['credentials'];

const OPTIONS: readonly (readonly [Credentials, string])[] = [
  ['shared', 'the service, with the credential above'],
  ['user', 'the user of the session, with their own credential'],
];

interface FieldProps {
  value: Credentials;
  disabled?: boolean;
  onChange: (credentials: Credentials) => void;
}

/** As whom agents call the server. */
export function CalledAsField(props: FieldProps) {
  return <SelectField label="Called as" options={OPTIONS} {...props} />;
}

interface Props {
  server: McpServer;
  onChanged: (server: McpServer) => void;
}

export function CalledAs({ server, onChanged }: Props) {
  const client = useClient();
  const announce = useAnnounce();
  const saving = useAction(async (credentials: Credentials) => {
    onChanged(await client.updateMcpServer(server.id, { credentials }));
    announce('Saved');
  });
  return (
    <div class="form">
      <CalledAsField value={server.credentials} disabled={saving.busy} onChange={(next) => saving.run(next)} />
      {server.credentials === 'user' && (
        <p class="hint">
          A call waits until its user is connected. <a href="#/connections">Connections of users</a>
        </p>
      )}
      <ErrorNote error={saving.error} />
    </div>
  );
}
