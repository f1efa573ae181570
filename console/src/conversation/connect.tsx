import { ApiError, type McpAuthorizationAction } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { AuthorizationLink, useOpenAuthorization } from '../connections/authorization-link.js';
import { ErrorNote } from '../parts/error-note.js';
import { Time } from '../parts/time.js';
import { navigate } from '../route.js';
import { useDecisions } from './decision-context.js';

/** For a call that waits until the user of the session has connected its server. */
export function Connect({ action }: { action: McpAuthorizationAction }) {
  const { answer, authorize, user } = useDecisions();
  const { address, open } = useOpenAuthorization();
  const connecting = useAction(async () => {
    try {
      open((await authorize(action.mcp_server_id)).authorization_url);
    } catch (error) {
      if (!isWithoutOauth(error)) throw error;
      // Its users have tokens.
      navigate(`/connections/new?server=${action.mcp_server_id}&user=${encodeURIComponent(user ?? '')}`);
    }
  });
  const declining = useAction(async () =>
    answer({ type: 'user.tool_confirmation', tool_use_id: action.tool_use_id, result: 'deny' }),
  );
  return (
    <form class="answer" aria-label={`Authorization for ${action.name}`} onSubmit={(event) => event.preventDefault()}>
      <ErrorNote error={connecting.error ?? declining.error} />
      <div class="actions">
        <button type="button" class="primary" disabled={connecting.busy} onClick={() => connecting.run()}>
          Connect{user !== null && ` ${user}`}
        </button>
        <button type="button" class="danger" disabled={declining.busy} onClick={() => declining.run()}>
          Decline
        </button>
      </div>
      <AuthorizationLink address={address} />
      <p class="hint">
        The agent acts as {user ?? 'the user of this session'}, who is not connected to the server. The call runs by
        itself afterwards; without that it fails <Time at={action.expires_at} />.
      </p>
    </form>
  );
}

function isWithoutOauth(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422;
}
