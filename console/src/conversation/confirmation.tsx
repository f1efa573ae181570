import { useState } from 'preact/hooks';
import type { WaitingCall } from '../../../client/src/index.js';
import { useService } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { isFirstClick } from '../parts/first-click.js';
import { Time } from '../parts/time.js';
import { useDecisions } from './decision-context.js';

type ConfirmedCall = Extract<WaitingCall, { type: 'tool_confirmation' }>;

/** True if this key may decide about the call: it has one of the groups that the call asks for, if it asks for any. */
export function mayDecide({ approvers }: Pick<ConfirmedCall, 'approvers'>, groups: readonly string[]): boolean {
  return approvers === undefined || groups.includes('*') || approvers.some((group) => groups.includes(group));
}

export function Confirmation({ action }: { action: ConfirmedCall }) {
  const { approver_groups: groups } = useService().config;
  const { approvers } = action;
  if (approvers !== undefined && !mayDecide(action, groups)) {
    return <p class="note">You cannot answer this: {approvers.join(' or ')} does.</p>;
  }
  return <Decision action={action} />;
}

function Decision({ action }: { action: ConfirmedCall }) {
  const { answer } = useDecisions();
  const [reason, setReason] = useState('');
  const { tool_use_id: id } = action;
  const answering = useAction(async (result: 'allow' | 'deny') =>
    answer(
      result === 'deny' && reason !== ''
        ? { type: 'user.tool_confirmation', tool_use_id: id, result, deny_message: reason }
        : { type: 'user.tool_confirmation', tool_use_id: id, result },
    ),
  );
  // The second click of a double click may be on another call, which has moved to the place of the first one.
  const click = (event: MouseEvent, result: 'allow' | 'deny'): void => {
    if (isFirstClick(event)) answering.run(result);
  };
  return (
    <form class="answer" aria-label={`Permission for ${action.name}`} onSubmit={(event) => event.preventDefault()}>
      <ErrorNote error={answering.error} />
      <div class="actions">
        <button type="button" class="primary" disabled={answering.busy} onClick={(event) => click(event, 'allow')}>
          Allow
        </button>
        <button type="button" class="danger" disabled={answering.busy} onClick={(event) => click(event, 'deny')}>
          Deny
        </button>
        <input
          class="grow"
          aria-label="Reason, when denied"
          placeholder="Reason, when denied"
          maxLength={1_000}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </div>
      <p class="hint">
        {action.approvers !== undefined && `${action.approvers.join(' or ')} decides. `}
        Without an answer the call fails <Time at={action.expires_at} />.
      </p>
    </form>
  );
}
