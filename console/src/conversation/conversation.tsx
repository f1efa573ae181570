import { useCallback, useEffect, useMemo, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAnnounce } from '../parts/announcer.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { useMedia, WIDE } from '../parts/use-media.js';
import { Inspector } from '../inspector/inspector.js';
import { readQuery, searchOf } from '../sessions/session-query.js';
import { useKeys } from '../shell/use-keys.js';
import { Composer } from './composer.js';
import { hasEnded, type Turn } from './conversation-log.js';
import { DecisionContext } from './decision-context.js';
import { ForkContext, type ForkPurpose } from './fork-context.js';
import { ForkDialog } from './fork-dialog.js';
import { InspectContext, type Selected } from './inspect-context.js';
import { SessionHead } from './session-head.js';
import { SessionList } from './session-list.js';
import { openActions, openBudget } from './tool-calls.js';
import { TurnView } from './turn-view.js';
import { useConversation } from './use-conversation.js';
import { WaitingMessages } from './waiting-messages.js';

/** A session: the others beside it, what was said, and everything about what was chosen in it. */
export function Conversation({ sessionId, query }: { sessionId: string; query: URLSearchParams }) {
  const turn = query.get('turn');
  const listQuery = readQuery(query);
  const { session, turns, loading, error, decisions, ...conversation } = useConversation(sessionId);
  const isWide = useMedia(WIDE);
  const [selected, setSelected] = useState<Selected>(
    turn === null ? { kind: 'latest' } : { kind: 'turn', turnId: turn },
  );
  const [isOpen, setOpen] = useState(false);
  const inspect = useMemo(
    () => ({ selected, select: (next: Selected) => (setSelected(next), setOpen(true)) }),
    [selected],
  );
  const [fork, setFork] = useState<{ purpose: ForkPurpose; turnId: string } | null>(null);
  const startFork = useCallback((purpose: ForkPurpose, turnId: string) => setFork({ purpose, turnId }), []);
  const forked = turns.find(({ id }) => id === fork?.turnId);
  const last = turns.at(-1);
  const running = session?.status === 'RUNNING' || (last !== undefined && !hasEnded(last));
  const actions = last === undefined ? [] : openActions(last);
  useFollowEnd(turns, turn !== null);
  useLinkedTurn(turn, loading);
  useTurnAnnouncements(last, loading);
  useKeys({
    c: () => document.getElementById('message')?.focus(),
    Escape: () => setOpen(false),
  });

  return (
    <InspectContext.Provider value={inspect}>
      <div class="workbench">
        {isWide && <SessionList current={sessionId} query={listQuery} />}
        <div class="conversation">
          <SessionHead
            sessionId={sessionId}
            session={session && { ...session, required_actions: actions }}
            turns={turns}
            back={`/sessions${searchOf(listQuery)}`}
            onBudget={decisions.setBudget}
          />
          <ErrorNote error={error} />
          <ForkContext.Provider value={startFork}>
            <DecisionContext.Provider value={decisions}>
              <div class="turns" aria-busy={loading}>
                {loading && error === null && <p class="hint">Loading …</p>}
                {!loading && turns.length === 0 && (
                  <Empty title="Nothing has been said yet" icon="message">
                    Write the first message below. The agent’s answer appears here while it is written.
                  </Empty>
                )}
                {turns.map((each) => (
                  <TurnView key={each.id} turn={each} isInspected={isInspected(selected, each.id)} />
                ))}
              </div>
            </DecisionContext.Provider>
          </ForkContext.Provider>
          {error === null && (
            <div class="foot">
              {session !== null && (
                <WaitingMessages
                  messages={conversation.waiting}
                  session={session}
                  running={running}
                  onWithdraw={conversation.withdraw}
                  onRelease={conversation.release}
                  onContinue={conversation.goOn}
                />
              )}
              {session?.parent_session_id == null && (
                <Composer
                  sessionId={sessionId}
                  running={running}
                  onSend={conversation.send}
                  onCancel={conversation.cancel}
                />
              )}
            </div>
          )}
        </div>
        {session !== null && (isWide || isOpen) && (
          <Inspector session={session} turns={turns} onClose={isWide ? null : () => setOpen(false)} />
        )}
        {session !== null && fork !== null && forked !== undefined && (
          <ForkDialog session={session} turn={forked} purpose={fork.purpose} onClose={() => setFork(null)} />
        )}
      </div>
    </InspectContext.Provider>
  );
}

function isInspected(selected: Selected, turnId: string): boolean {
  return 'turnId' in selected && selected.turnId === turnId;
}

/** Says how the latest turn stands; its text is read from the page. */
function useTurnAnnouncements(turn: Turn | undefined, loading: boolean): void {
  const announce = useAnnounce();
  const state = useMemo(() => stateOf(turn), [turn]);
  useEffect(() => {
    if (!loading && state !== null) announce(state);
  }, [state, loading]);
}

function stateOf(turn: Turn | undefined): string | null {
  if (turn === undefined) return null;
  const last = turn.events.at(-1);
  if (last?.type === 'turn.completed') return 'The agent has answered';
  if (last?.type === 'turn.cancelled') return 'The turn was cancelled';
  if (last?.type === 'turn.failed') return 'The turn failed';
  if (openBudget(turn) !== null) return 'The agent waits for a larger budget';
  if (openActions(turn).length > 0) return 'The agent waits for your answer';
  return 'The agent is working';
}

/** A link to one turn shows its begin. */
function useLinkedTurn(turnId: string | null, loading: boolean): void {
  useEffect(() => {
    if (turnId !== null && !loading) document.getElementById(turnId)?.scrollIntoView({ block: 'start' });
  }, [turnId, loading]);
}

/** So close to the end of the page, in pixels, counts as being there. */
const END_MARGIN = 80;

/** Keeps the end of the page in view while it grows, unless the reader has scrolled up or looks at one turn. */
function useFollowEnd(content: unknown, isElsewhere: boolean): void {
  const atEnd = useRef(!isElsewhere);
  useEffect(() => {
    const onScroll = (): void => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      atEnd.current = scrollHeight - scrollTop - clientHeight < END_MARGIN;
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  /** Where this left the page. Above it the reader has scrolled up, though the event may not have come yet. */
  const left = useRef(0);
  useLayoutEffect(() => {
    const page = document.documentElement;
    if (!atEnd.current || page.scrollTop < left.current - END_MARGIN) return;
    page.scrollTop = page.scrollHeight;
    left.current = page.scrollTop;
  }, [content]);
}
