import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RequiredAction, Session } from '../../../client/src/index.js';
import { exactText } from '../../../src/platform/exact-json.js';
import { useClient } from '../client/service.js';
import { BudgetForm } from '../conversation/budget-form.js';
import { Confirmation } from '../conversation/confirmation.js';
import { Connect } from '../conversation/connect.js';
import { CustomResultForm } from '../conversation/custom-result-form.js';
import { DecisionContext, type Decisions } from '../conversation/decision-context.js';
import { ElicitationForm } from '../conversation/elicitation-form.js';
import { useAnnounce } from '../parts/announcer.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { PageHead } from '../parts/page-head.js';
import { Time } from '../parts/time.js';
import { formatToolName } from '../parts/tool-name.js';
import { navigate } from '../route.js';
import { titleOf } from '../sessions/title.js';
import { useKeys } from '../shell/use-keys.js';
import { useWaitingSessions } from '../shell/waiting-sessions.js';

interface Open {
  key: string;
  session: Session;
  action: RequiredAction;
}

/** What waits for a person in all sessions of the project, to be answered here. */
export function InboxView() {
  const client = useClient();
  const announce = useAnnounce();
  const { sessions, hasMore, error, reload } = useWaitingSessions();
  const [chosen, setChosen] = useState<string | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  // What was answered here is gone at once, though the list was read before.
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => void reload(), []);
  const open = (sessions ?? [])
    .flatMap((session) => session.required_actions.map((action) => ({ key: keyOf(session, action), session, action })))
    .filter(({ key }) => !answered.has(key));
  const at = Math.max(
    0,
    open.findIndex(({ key }) => key === chosen),
  );
  const current = open[at];

  const choose = (index: number): void => {
    const next = open[Math.min(Math.max(0, index), open.length - 1)];
    if (next === undefined) return;
    setChosen(next.key);
    document.getElementById(`open-${next.key}`)?.scrollIntoView({ block: 'nearest' });
  };
  const take = (key: string): void => {
    setAnswered((before) => new Set([...before, key]));
    void reload();
  };
  const decide = async (one: Open | undefined, result: 'allow' | 'deny'): Promise<void> => {
    if (one?.action.type !== 'tool_confirmation') return;
    const { tool_use_id } = one.action;
    setFailed(null);
    choose(at + 1);
    try {
      await client.confirm(one.session.id, { tool_use_id, result });
      announce(`${result === 'allow' ? 'Allowed' : 'Denied'}: ${formatToolName(one.action.name)}`);
      take(one.key);
    } catch (cause) {
      setFailed(cause);
      await reload();
    }
  };
  useKeys({
    j: () => choose(at + 1),
    k: () => choose(at - 1),
    a: () => void decide(current, 'allow'),
    d: () => void decide(current, 'deny'),
    ...(document.activeElement?.matches('a, button') !== true &&
      current !== undefined && { Enter: () => navigate(`/sessions/${current.session.id}`) }),
  });

  return (
    <>
      <PageHead title="Waiting for you">
        {open.length > 0 && (
          <span class="hint key-hints">
            <kbd>J</kbd> <kbd>K</kbd> move · <kbd>A</kbd> allow · <kbd>D</kbd> deny
          </span>
        )}
      </PageHead>
      <ErrorNote error={failed ?? error} />
      {sessions === null && error === null && <p class="hint">Loading …</p>}
      {sessions !== null && open.length === 0 && (
        <Empty title="Nothing waits for you" icon="done">
          Calls of tools that ask first, calls of your own tools, questions of MCP servers and budgets that are reached
          appear here, from all sessions.
        </Empty>
      )}
      <ol class="inbox" aria-label="What waits">
        {open.map((one, index) => (
          <Card
            key={one.key}
            one={one}
            isChosen={index === at}
            onChoose={() => setChosen(one.key)}
            onAnswered={() => take(one.key)}
          />
        ))}
      </ol>
      {hasMore && <p class="hint">More than 100 sessions wait: the others appear when these are answered.</p>}
    </>
  );
}

function keyOf(session: Session, action: RequiredAction): string {
  if ('elicitation_id' in action) return action.elicitation_id;
  if ('tool_use_id' in action) return `${session.last_turn_id}-${action.tool_use_id}`;
  return `${session.last_turn_id}-${action.type}-${action.expires_at}`;
}

const TITLES: Record<string, string> = {
  tool_confirmation: 'Permission',
  custom_tool_result: 'Your tool',
  elicitation: 'Question',
  budget: 'Budget',
  mcp_authorization: 'Authorization',
};

interface CardProps {
  one: Open;
  isChosen: boolean;
  onChoose: () => void;
  onAnswered: () => void;
}

function Card({ one: { key, session, action }, isChosen, onChoose, onAnswered }: CardProps) {
  const client = useClient();
  const decisions = useMemo<Decisions>(
    () => ({
      user: session.user,
      async answer(answer) {
        await client.sendAnswers(session.id, [answer]);
        onAnswered();
      },
      async setBudget(budget) {
        const { required_actions: left } = await client.updateSession(session.id, { budget });
        const isOver = !left.some(({ type }) => type === 'budget');
        if (isOver) onAnswered();
        return isOver;
      },
      authorize: (mcp_server_id) => client.authorizeSession(session.id, { mcp_server_id }),
    }),
    [client, session.id, key],
  );
  return (
    <li id={`open-${key}`} class={isChosen ? 'open chosen' : 'open'} onFocusIn={onChoose} onClick={onChoose}>
      <div class="open-head">
        <span class="status waiting">
          <Icon name="waiting" size={14} />
          {TITLES[action.type] ?? action.type}
        </span>
        <strong class="clip">{'name' in action ? formatToolName(action.name) : 'The budget is reached'}</strong>
        <span class="hint">
          expires <Time at={action.expires_at} />
        </span>
        <a class="clip open-session" href={`#/sessions/${session.id}`}>
          {titleOf(session)}
        </a>
      </div>
      {'input' in action && <pre tabIndex={0}>{exactText(action.input, 2)}</pre>}
      <DecisionContext.Provider value={decisions}>
        {action.type === 'tool_confirmation' && <Confirmation action={action} />}
        {action.type === 'custom_tool_result' && <CustomResultForm action={action} />}
        {action.type === 'elicitation' && <ElicitationForm question={action} />}
        {action.type === 'budget' && <BudgetForm action={action} />}
        {action.type === 'mcp_authorization' && <Connect action={action} />}
      </DecisionContext.Provider>
    </li>
  );
}
