import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RequiredAction, Session } from '../../../client/src/index.js';
import { exactText } from '../../../src/platform/exact-json.js';
import { useClient, useService } from '../client/service.js';
import { BudgetForm } from '../conversation/budget-form.js';
import { Confirmation, mayDecide } from '../conversation/confirmation.js';
import { Connect } from '../conversation/connect.js';
import { CustomResultForm } from '../conversation/custom-result-form.js';
import { DecisionContext, type Decisions } from '../conversation/decision-context.js';
import { ElicitationForm } from '../conversation/elicitation-form.js';
import { useAnnounce } from '../parts/announcer.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { PageHead } from '../parts/page-head.js';
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

/** An action of the list with how it ended; null while it waits. */
interface Listed extends Open {
  outcome: string | null;
}

/** What waits for a person in all sessions of the project, to be answered here. */
export function InboxView() {
  const client = useClient();
  const { approver_groups: groups } = useService().config;
  const announce = useAnnounce();
  const { sessions, hasMore, error, reload } = useWaitingSessions();
  const [chosen, setChosen] = useState<string | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, string>>(new Map());
  /** Those that A or D has answered, from the key on: the next key must not answer them again. */
  const decided = useRef(new Set<string>());
  const [isFresh, setFresh] = useState(false);
  useEffect(() => void reload().then(() => setFresh(true)), []);
  const [listed, hideAnswered] = useListed(sessions ?? [], outcomes, isFresh);
  const isOpen = ({ key, outcome }: Listed): boolean => outcome === null && !decided.current.has(key);
  const open = listed.filter(({ outcome }) => outcome === null);
  const current = chosen === null ? listed.find(isOpen) : listed.find((one) => one.key === chosen && isOpen(one));

  const choose = (next: Open | undefined): void => {
    if (next === undefined) return;
    setChosen(next.key);
    document.getElementById(`open-${next.key}`)?.scrollIntoView({ block: 'nearest' });
  };
  const nextOf = (key: string | undefined): Open | undefined =>
    listed.slice(listed.findIndex((one) => one.key === key) + 1).find(isOpen);
  const previousOf = (key: string | undefined): Open | undefined =>
    listed
      .slice(
        0,
        Math.max(
          0,
          listed.findIndex((one) => one.key === key),
        ),
      )
      .findLast(isOpen);
  const take = ({ key }: Open, outcome: string): void => {
    if (current?.key === key) setChosen(nextOf(key)?.key ?? key);
    setOutcomes((before) => new Map([...before, [key, outcome]]));
    announce(outcome);
    void reload();
  };
  const decide = async (one: Open | undefined, result: 'allow' | 'deny'): Promise<void> => {
    if (one?.action.type !== 'tool_confirmation' || !mayDecide(one.action, groups)) return;
    const { tool_use_id } = one.action;
    setFailed(null);
    decided.current.add(one.key);
    setChosen(one.key);
    choose(nextOf(one.key));
    try {
      await client.confirm(one.action.session_id ?? one.session.id, { tool_use_id, result });
      take(one, outcomeOf(one.action, result));
    } catch (cause) {
      decided.current.delete(one.key);
      setFailed(cause);
      await reload();
    }
  };
  // A key that is held answers once: each answer is about another call.
  useKeys({
    j: () => choose(nextOf(chosen ?? current?.key)),
    k: () => choose(previousOf(chosen ?? current?.key)),
    a: (event) => void (event.repeat || decide(current, 'allow')),
    d: (event) => void (event.repeat || decide(current, 'deny')),
    ...(document.activeElement?.matches('a, button') !== true &&
      current !== undefined && {
        Enter: (event) => event.repeat || navigate(`/sessions/${current.session.id}`),
      }),
  });

  return (
    <>
      <PageHead title="Waiting for you">
        {listed.length > open.length && (
          <button class="quiet" onClick={hideAnswered}>
            Hide {listed.length - open.length} answered
          </button>
        )}
        {open.length > 0 && (
          <span class="hint key-hints">
            <kbd>J</kbd> <kbd>K</kbd> move · <kbd>A</kbd> allow · <kbd>D</kbd> deny
          </span>
        )}
      </PageHead>
      <ErrorNote error={failed ?? error} />
      {sessions === null && error === null && <p class="hint">Loading …</p>}
      {listed.length > 0 && (
        <ol class="inbox" aria-label="What waits">
          {listed.map((one) => (
            <Card
              key={one.key}
              one={one}
              isChosen={one.key === current?.key}
              onChoose={() => one.outcome === null && setChosen(one.key)}
              onAnswered={(outcome) => take(one, outcome)}
            />
          ))}
        </ol>
      )}
      {sessions !== null && open.length === 0 && (
        <Empty title="Nothing waits for you" icon="done">
          Calls of tools that ask first, calls of your own tools, questions of MCP servers and budgets that are reached
          appear here, from all sessions.
        </Empty>
      )}
      {hasMore && <p class="hint">More than 100 sessions wait: the others appear when these are answered.</p>}
    </>
  );
}

const MAX_ANSWERED = 50;
const GONE = 'This does not wait any more: it was answered elsewhere, or its time is over.';

/**
 * Keeps each action at its place while the page is open: the next one must not move under the pointer of a person who
 * has just answered. What is new comes last, what was answered stays until it is hidden, and the oldest of many goes.
 */
function useListed(
  sessions: readonly Session[],
  outcomes: ReadonlyMap<string, string>,
  isFresh: boolean,
): [listed: Listed[], hideAnswered: () => void] {
  const kept = useRef(new Map<string, Open>());
  const [, setHidden] = useState(0);
  const waiting = new Map(
    sessions.flatMap((session) =>
      session.required_actions.map((action) => [
        keyOf(session, action),
        { key: keyOf(session, action), session, action },
      ]),
    ),
  );
  const outcomeOfKey = (key: string): string | null => outcomes.get(key) ?? (waiting.has(key) ? null : GONE);
  // Before the first read of this visit the list may be old, so that somebody may long have answered what it names.
  if (!isFresh) {
    for (const key of kept.current.keys()) {
      if (!waiting.has(key) && !outcomes.has(key)) kept.current.delete(key);
    }
  }
  for (const [key, one] of waiting) {
    if (kept.current.has(key) || !outcomes.has(key)) kept.current.set(key, one);
  }
  const answered = [...kept.current.keys()].filter((key) => outcomeOfKey(key) !== null);
  for (const key of answered.slice(0, -MAX_ANSWERED)) kept.current.delete(key);
  const hideAnswered = (): void => {
    for (const key of answered) kept.current.delete(key);
    setHidden((times) => times + 1);
  };
  return [[...kept.current.values()].map((one) => ({ ...one, outcome: outcomeOfKey(one.key) })), hideAnswered];
}

function outcomeOf(action: RequiredAction, result: 'allow' | 'deny'): string {
  const name = 'name' in action ? formatToolName(action.name) : 'the call';
  return result === 'allow' ? `Allowed: ${name} runs now.` : `Denied: ${name} does not run.`;
}

function keyOf(session: Session, action: RequiredAction): string {
  if ('elicitation_id' in action) return action.elicitation_id;
  const asks = action.session_id ?? session.last_turn_id;
  if ('tool_use_id' in action) return `${asks}-${action.type}-${action.tool_use_id}`;
  return `${asks}-${action.type}-${action.expires_at}`;
}

const TITLES: Record<string, string> = {
  tool_confirmation: 'Permission',
  custom_tool_result: 'Your tool',
  elicitation: 'Question',
  budget: 'Budget',
  mcp_authorization: 'Authorization',
};

interface CardProps {
  one: Listed;
  isChosen: boolean;
  onChoose: () => void;
  onAnswered: (outcome: string) => void;
}

function Card({ one: { key, session, action, outcome }, isChosen, onChoose, onAnswered }: CardProps) {
  const client = useClient();
  const card = useRef<HTMLLIElement>(null);
  const height = useRef(0);
  useLayoutEffect(() => {
    if (outcome === null) height.current = card.current!.offsetHeight;
  });
  // A child session asks under its parent, and is answered itself.
  const asking = action.session_id ?? session.id;
  const decisions: Decisions = {
    user: session.user,
    async answer(answer) {
      await client.sendAnswers(asking, [answer]);
      onAnswered(
        answer.type === 'user.tool_confirmation' ? outcomeOf(action, answer.result) : 'Your answer has been sent.',
      );
    },
    async setBudget(budget) {
      const { required_actions: left } = await client.updateSession(session.id, { budget });
      const isOver = !left.some(({ type }) => type === 'budget');
      if (isOver) onAnswered('The budget has been changed: the turn goes on.');
      return isOver;
    },
    authorize: (mcp_server_id) => client.authorizeSession(asking, { mcp_server_id }),
  };
  const isAnswered = outcome !== null;
  return (
    <li
      ref={card}
      id={`open-${key}`}
      class={['open', isChosen && 'chosen', isAnswered && 'answered'].filter(Boolean).join(' ')}
      style={isAnswered ? { minHeight: `${height.current}px` } : {}}
      onFocusIn={onChoose}
      onClick={onChoose}
    >
      <div class="open-head">
        <span class={isAnswered ? 'status' : 'status waiting'}>
          <Icon name={isAnswered ? 'done' : 'waiting'} size={14} />
          {TITLES[action.type] ?? action.type}
        </span>
        <strong class="clip">{'name' in action ? formatToolName(action.name) : 'The budget is reached'}</strong>
        <a class="clip open-session" href={`#/sessions/${session.id}`}>
          {titleOf(session)}
        </a>
        {action.session_id !== undefined && (
          <a class="clip open-session" href={`#/sessions/${action.session_id}`}>
            asked by another agent that it called
          </a>
        )}
      </div>
      {'input' in action && <pre tabIndex={0}>{exactText(action.input, 2)}</pre>}
      {isAnswered ? (
        <p class="outcome">{outcome}</p>
      ) : (
        <DecisionContext.Provider value={decisions}>
          {action.type === 'tool_confirmation' && <Confirmation action={action} />}
          {action.type === 'custom_tool_result' && <CustomResultForm action={action} />}
          {action.type === 'elicitation' && <ElicitationForm question={action} />}
          {action.type === 'budget' && <BudgetForm action={action} />}
          {action.type === 'mcp_authorization' && <Connect action={action} />}
        </DecisionContext.Provider>
      )}
    </li>
  );
}
