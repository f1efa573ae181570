import type { Session } from '../../../client/src/index.js';
import { exactText } from '../../../src/platform/exact-json.js';
import { useClient } from '../client/service.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { formatMoney } from '../parts/format.js';
import { PageHead } from '../parts/page-head.js';
import { SessionStatus } from '../parts/status.js';
import { navigate } from '../route.js';
import { leftOf, type Budget } from './budget.js';
import type { SetBudget } from './decision-context.js';
import { EditBudget } from './edit-budget.js';

interface Props {
  sessionId: string;
  session: Session | null;
  onBudget: SetBudget;
}

export function SessionHead({ sessionId, session, onBudget }: Props) {
  const client = useClient();
  const remove = async (): Promise<void> => {
    await client.deleteSession(sessionId);
    navigate('/sessions');
  };
  return (
    <>
      <PageHead title={session?.metadata.title ?? 'Session'}>
        {session !== null && <SessionStatus session={session} />}
        <ConfirmButton label="Delete" question="Delete this session?" onConfirm={remove}>
          <p>Its events are gone then. Delivered files stay under Files.</p>
        </ConfirmButton>
      </PageHead>
      <div class="facts">
        <CopyText text={sessionId} label="session id" />
        {session !== null && (
          <>
            <span>{session.model_id}</span>
            {session.cost !== null && <span>{formatMoney(session.cost)} so far</span>}
            {session.budget !== null && <span>{budgetText(session.budget, session.cost)}</span>}
            {session.thinking_enabled && <span>thinking on</span>}
            {session.mcp_servers.length > 0 && (
              <span>
                {session.mcp_servers.length} MCP server{session.mcp_servers.length > 1 && 's'}
              </span>
            )}
          </>
        )}
      </div>
      {session !== null && <EditBudget key={JSON.stringify(session.budget)} session={session} onChange={onBudget} />}
      {session !== null && <SessionSettings session={session} />}
    </>
  );
}

function SessionSettings({ session }: { session: Session }) {
  const { instruction, tools, metadata } = session;
  const { title: _title, ...others } = metadata;
  if (instruction === null && tools.length === 0 && Object.keys(others).length === 0) return null;
  return (
    <details class="instruction">
      <summary>Settings</summary>
      {instruction !== null && <p class="plain-text">{instruction}</p>}
      {Object.entries(others).map(([key, value]) => (
        <span key={key} class="tag">
          {key}: {value}
        </span>
      ))}
      {tools.length > 0 && (
        <>
          <h2>Tools</h2>
          <pre tabIndex={0}>{exactText(tools, 2)}</pre>
        </>
      )}
    </details>
  );
}

function budgetText(budget: Budget, cost: Session['cost']): string {
  const left = leftOf(budget, cost);
  const total = `budget ${formatMoney(budget.max_cost)}`;
  return left === null ? total : `${total}, ${left.amount} left`;
}
