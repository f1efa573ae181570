import type { McpServer } from '../../../client/src/index.js';
import { useAnnounce } from '../parts/announcer.js';
import { ErrorNote } from '../parts/error-note.js';
import { useAuthorization } from './use-authorization.js';

interface Props {
  server: McpServer;
  onChanged: (server: McpServer) => void;
}

export function Authorization({ server, onChanged }: Props) {
  const announce = useAnnounce();
  const { href, start, busy, error } = useAuthorization(server, (now) => {
    if (now.auth.status === 'authorized') announce('The server is authorized');
    onChanged(now);
  });
  const isAuthorized = server.auth.status === 'authorized';
  return (
    <div class={`note ${isAuthorized ? 'plain' : 'warning'}`}>
      <p>
        {isAuthorized
          ? 'The service is authorized to use this server.'
          : 'A person must authorize the service before agents can use this server.'}
      </p>
      <ErrorNote error={error} />
      <div class="actions">
        {href !== null && (
          <a class="button primary" href={href} target="_blank" rel="noopener noreferrer">
            Open the authorization page
          </a>
        )}
        <button disabled={busy} onClick={start}>
          {isAuthorized || href !== null ? 'Authorize again' : 'Authorize'}
        </button>
      </div>
    </div>
  );
}
