import type { Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { Icon } from '../parts/icon.js';
import { countOf, exactMoney, formatMoney } from '../parts/format.js';
import { PageHead } from '../parts/page-head.js';
import { SessionStatus } from '../parts/status.js';
import { navigate } from '../route.js';
import { titleOf } from '../sessions/title.js';
import { leftOf, type Budget } from './budget.js';
import type { SetBudget } from './decision-context.js';
import type { Turn } from './conversation-log.js';
import { EditBudget } from './edit-budget.js';
import { ForkOrigin } from './fork-origin.js';
import { useInspect } from './inspect-context.js';
import { markdownOf } from './markdown-of.js';

interface Props {
  sessionId: string;
  session: Session | null;
  turns: readonly Turn[];
  /** The address of the list from which the session was opened. */
  back: string;
  onBudget: SetBudget;
}

export function SessionHead({ sessionId, session, turns, back, onBudget }: Props) {
  const client = useClient();
  const { select } = useInspect();
  const { value: models } = useLoad((signal) => Array.fromAsync(client.eachModel({}, { signal })), [client]);
  const canThink = models?.some(({ id, supports_thinking: can }) => id === session?.model_id && can) ?? false;
  const remove = async (): Promise<void> => {
    await client.deleteSession(sessionId);
    navigate(back);
  };
  return (
    <>
      <PageHead
        title={session?.preview == null ? (session?.metadata.title ?? 'Session') : titleOf(session)}
        back={`#${back}`}
      >
        {session !== null && <SessionStatus session={session} />}
        <button class="quiet" onClick={() => select({ kind: 'session' })}>
          <Icon name="panel" /> Details
        </button>
        <CopyText text={() => markdownOf(turns)} label="conversation as Markdown">
          Copy
        </CopyText>
        <a class="button quiet" href={`#/sessions/new?like=${sessionId}`}>
          <Icon name="copy" /> Same again
        </a>
        {session?.parent_session_id == null && (
          <ConfirmButton label="Delete" question="Delete this session?" onConfirm={remove}>
            <p>
              Its events are gone then, and the sessions of agents that it called. Delivered files stay under Files.
            </p>
          </ConfirmButton>
        )}
      </PageHead>
      <div class="facts">
        <CopyText text={sessionId} label="session id" />
        {session !== null && (
          <>
            <span>{session.model_id}</span>
            {session.workspace !== null && (
              <button class="quiet small" onClick={() => select({ kind: 'workspace' })}>
                <Icon name="folder" size={14} /> Workspace
              </button>
            )}
            {session.parent_session_id !== null && (
              <span>
                called by the agent of{' '}
                <a href={`#/sessions/${session.parent_session_id}`}>{session.parent_session_id}</a>
              </span>
            )}
            {session.forked_from !== null && <ForkOrigin origin={session.forked_from} />}
            {session.user !== null && (
              <span>
                acts as{' '}
                <a href={`#/connections?user=${encodeURIComponent(session.user)}`} title="Connections of this user">
                  {session.user}
                </a>
              </span>
            )}
            {session.cost !== null && <span title={exactMoney(session.cost)}>{formatMoney(session.cost)} so far</span>}
            {session.budget !== null && <span>{budgetText(session.budget, session.cost)}</span>}
            {session.thinking_enabled && canThink && <span>thinking on</span>}
            {session.mcp_servers.length > 0 && <span>{countOf(session.mcp_servers.length, 'MCP server')}</span>}
          </>
        )}
      </div>
      {session !== null && session.parent_session_id === null && (
        <EditBudget key={JSON.stringify(session.budget)} session={session} onChange={onBudget} />
      )}
    </>
  );
}

function budgetText(budget: Budget, cost: Session['cost']): string {
  const left = leftOf(budget, cost);
  const total = `budget ${formatMoney(budget.max_cost)}`;
  return left === null ? total : `${total}, ${formatMoney(left)} left`;
}
