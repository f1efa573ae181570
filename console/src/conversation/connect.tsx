import type { McpAuthorizationAction } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Time } from '../parts/time.js';
import { useDecisions } from './decision-context.js';

/** For a call that waits until the user of the session has authorized its server. */
export function Connect({ action }: { action: McpAuthorizationAction }) {
  const { answer, authorize } = useDecisions();
  const connecting = useAction(async () => {
    const { authorization_url } = await authorize(action.mcp_server_id);
    window.open(authorization_url, '_blank', 'noopener');
  });
  const declining = useAction(async () =>
    answer({ type: 'user.tool_confirmation', tool_use_id: action.tool_use_id, result: 'deny' }),
  );
  return (
    <form class="answer" aria-label={`Authorization for ${action.name}`} onSubmit={(event) => event.preventDefault()}>
      <ErrorNote error={connecting.error ?? declining.error} />
      <div class="actions">
        <button type="button" class="primary" disabled={connecting.busy} onClick={() => connecting.run()}>
          Connect
        </button>
        <button type="button" class="danger" disabled={declining.busy} onClick={() => declining.run()}>
          Decline
        </button>
      </div>
      <p class="hint">
        The user of this session opens the address. The call runs by itself afterwards; without that it fails{' '}
        <Time at={action.expires_at} />.
      </p>
    </form>
  );
}
