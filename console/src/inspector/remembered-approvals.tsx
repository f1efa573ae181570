import { useState } from 'preact/hooks';
import type { Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Time } from '../parts/time.js';
import { formatToolName } from '../parts/tool-name.js';

/** The tools whose calls a person has allowed for the session, with a way to take that back. */
export function RememberedApprovals({ session }: { session: Session }) {
  const client = useClient();
  const [forgotten, setForgotten] = useState<readonly string[]>([]);
  const forgetting = useAction(async (toolUseId: string) => {
    await client.updateSession(session.id, { forget_approvals: [toolUseId] });
    setForgotten((before) => [...before, toolUseId]);
  });
  const approvals = session.remembered_approvals.filter(({ tool_use_id: id }) => !forgotten.includes(id));
  if (approvals.length === 0) return null;
  return (
    <>
      <h3>Allowed without asking</h3>
      <ErrorNote error={forgetting.error} />
      <ul class="plain" aria-label="Allowed without asking">
        {approvals.map(({ name, tool_use_id: id, actor, created_at }) => (
          <li key={id}>
            {formatToolName(name)}{' '}
            <span class="hint">
              {actor !== null && `by ${actor}, `}
              <Time at={created_at} />
            </span>{' '}
            <button type="button" class="quiet small" disabled={forgetting.busy} onClick={() => forgetting.run(id)}>
              Ask again<span class="visually-hidden"> for {name}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
