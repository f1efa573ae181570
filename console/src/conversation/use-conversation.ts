import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { NewMessage, Session, WaitingMessage } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { ConversationLog, type Turn } from './conversation-log.js';
import { openBudget } from './tool-calls.js';
import { usePoll } from './use-poll.js';
import { useWaiting } from './use-waiting.js';
import type { Decisions } from './decision-context.js';
import { followSession } from './follow-session.js';

interface ConversationState {
  session: Session | null;
  turns: readonly Turn[];
  /** True until the history has been read once. */
  loading: boolean;
  error: unknown;
  send: (message: NewMessage) => Promise<void>;
  cancel: () => Promise<void>;
  /** The messages that wait, in order of delivery. */
  waiting: WaitingMessage[];
  withdraw: (messageId: string) => Promise<void>;
  /** Starts the first message of a queue that is held. */
  release: () => Promise<void>;
  /** Goes on with a turn that did not complete. */
  goOn: () => Promise<void>;
  decisions: Decisions;
}

export function useConversation(sessionId: string): ConversationState {
  const client = useClient();
  const log = useMemo(() => new ConversationLog(), [client, sessionId]);
  const [session, setSession] = useState<Session | null>(null);
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const changed = useRenderPerFrame();
  const wake = useRef<() => void>(() => undefined);

  const takeSession = (next: Session): void => {
    setSession(next);
    log.settle(next);
    changed();
  };

  useEffect(() => {
    const leave = new AbortController();
    const follower = followSession(client, sessionId, leave.signal, {
      onEvent: (event) => (log.add(event), changed()),
      onSession: takeSession,
      onHistory: () => setLoading(false),
    });
    wake.current = follower.wake;
    follower.done.catch((cause: unknown) => {
      if (!leave.signal.aborted) setError(cause);
    });
    return () => leave.abort();
  }, [client, sessionId, log]);

  const { messages: waiting, reload } = useWaiting(sessionId, session, log.turns);

  // Somebody else may decide about a budget, and the stream does not tell.
  const last = log.turns.at(-1);
  const asks = last !== undefined && openBudget(last) !== null;
  usePoll(asks, () => client.getSession(sessionId).then(takeSession), [client, sessionId]);

  return {
    session,
    waiting,
    turns: log.turns,
    loading,
    error,
    async send(message) {
      const receipt = await client.sendMessage(sessionId, message);
      if (receipt.state !== undefined) return reload();
      log.add(receipt);
      changed();
      wake.current();
    },
    async withdraw(messageId) {
      await client.withdrawMessage(sessionId, messageId);
      await reload();
    },
    async release() {
      setSession(await client.releaseQueue(sessionId));
      wake.current();
    },
    async goOn() {
      log.add(await client.continueTurn(sessionId));
      changed();
      wake.current();
    },
    decisions: {
      user: session?.user ?? null,
      authorize: (mcp_server_id) => client.authorizeSession(sessionId, { mcp_server_id }),
      async answer(answer) {
        const stored = await client.sendAnswers(sessionId, [answer]);
        stored.forEach((event) => log.add(event));
        changed();
      },
      async setBudget(budget) {
        const changed = await client.updateSession(sessionId, { budget });
        takeSession(changed);
        return !changed.required_actions.some(({ type }) => type === 'budget');
      },
    },
    async cancel() {
      setSession(await client.cancelTurn(sessionId));
      wake.current();
    },
  };
}

/** However many events come, the page is rendered once per frame. */
function useRenderPerFrame(): () => void {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return () => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      render(undefined);
    });
  };
}
