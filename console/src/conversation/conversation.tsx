import { useEffect, useMemo, useLayoutEffect, useRef } from 'preact/hooks';
import { useAnnounce } from '../parts/announcer.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Composer } from './composer.js';
import { hasEnded, type Turn } from './conversation-log.js';
import { DecisionContext } from './decision-context.js';
import { SessionHead } from './session-head.js';
import { openActions, openBudget } from './tool-calls.js';
import { TurnView } from './turn-view.js';
import { useConversation } from './use-conversation.js';
import { WaitingMessages } from './waiting-messages.js';

export function Conversation({ sessionId }: { sessionId: string }) {
  const { session, turns, loading, error, decisions, ...conversation } = useConversation(sessionId);
  const last = turns.at(-1);
  const running = session?.status === 'RUNNING' || (last !== undefined && !hasEnded(last));
  const actions = last === undefined ? [] : openActions(last);
  useFollowEnd(turns);
  useTurnAnnouncements(last, loading);

  return (
    <div class="conversation">
      <SessionHead
        sessionId={sessionId}
        session={session && { ...session, required_actions: actions }}
        onBudget={decisions.setBudget}
      />
      <ErrorNote error={error} />
      <DecisionContext.Provider value={decisions}>
        <div class="turns" aria-busy={loading}>
          {loading && error === null && <p class="hint">Loading …</p>}
          {!loading && turns.length === 0 && (
            <Empty title="Nothing has been said yet">
              Write the first message below. The agent’s answer appears here while it is written.
            </Empty>
          )}
          {turns.map((turn) => (
            <TurnView key={turn.id} turn={turn} />
          ))}
        </div>
      </DecisionContext.Provider>
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
          <Composer sessionId={sessionId} running={running} onSend={conversation.send} onCancel={conversation.cancel} />
        </div>
      )}
    </div>
  );
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

/** So close to the end of the page, in pixels, counts as being there. */
const END_MARGIN = 80;

/** Keeps the end of the page in view while it grows, unless the reader has scrolled up. */
function useFollowEnd(content: unknown): void {
  const atEnd = useRef(true);
  useEffect(() => {
    const onScroll = (): void => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      atEnd.current = scrollHeight - scrollTop - clientHeight < END_MARGIN;
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  useLayoutEffect(() => {
    if (atEnd.current) document.documentElement.scrollTop = document.documentElement.scrollHeight;
  }, [content]);
}
