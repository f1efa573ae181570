import { useCallback, useEffect, useState } from 'react';
import type { UIMessage } from 'ai';
import {
  isTerminal,
  type Session,
  type StreamEvent,
  type Turn,
  type WaitingMessage,
} from '@agent-session-service/client';
import { load, type OpenChat } from './open-chat.js';

/** What the chat itself does not know: messages that wait, and how the last turn ended. */
export interface SessionState {
  queue: WaitingMessage[];
  /** The session; null until it has been read. */
  session: Session | null;
  /** The last turn, if it ended before its answer was complete. */
  unfinished: Turn | null;
}

const NOTHING: SessionState = { queue: [], session: null, unfinished: null };

/**
 * The state of the session, and what others do in it. While the chat has no stream of its own, the page follows the session: a message
 * of another tab, of the queue or of a schedule shows up, and so does an answer that somebody else gave.
 */
export function useSession(
  open: OpenChat,
  status: string,
  onError: (error: unknown) => void,
): SessionState & { refresh: () => Promise<void> } {
  const [state, setState] = useState<SessionState>(NOTHING);
  const refresh = useCallback(async () => setState(await read(open)), [open]);
  useEffect(() => {
    if (status !== 'submitted') refresh().catch(onError);
  }, [refresh, status, onError]);
  useEffect(() => {
    if (status === 'submitted' || status === 'streaming') return undefined;
    const leave = new AbortController();
    watch(open, leave.signal, refresh).catch((error: unknown) => {
      if (!leave.signal.aborted) onError(error);
    });
    return () => leave.abort();
  }, [open, status, refresh, onError]);
  return { ...state, refresh };
}

async function read({ id, client }: OpenChat): Promise<SessionState> {
  const session = await client.getSession(id);
  const queue = session.queue.length === 0 ? [] : (await client.listQueue(id)).items;
  const isOver = session.continuable && session.last_turn_id !== null;
  return { session, queue, unfinished: isOver ? await client.getTurn(id, session.last_turn_id!) : null };
}

async function watch(open: OpenChat, signal: AbortSignal, refresh: () => Promise<void>): Promise<void> {
  const { id, client, chat } = open;
  while (!signal.aborted) {
    for await (const event of client.follow(id, { after: open.after, signal })) {
      if (isNews(event, chat.messages)) break;
      if ('id' in event) open.after = event.id;
      if (isTerminal(event)) await refresh();
    }
    if (signal.aborted) return;
    await load(open);
    await refresh();
    await chat.resumeStream();
  }
}

/** Whether the messages do not show this event yet. */
function isNews(event: StreamEvent, messages: UIMessage[]): boolean {
  const answer = messages.findLast(({ id }) => id === event.turn_id);
  if (answer === undefined) return true;
  const open = answer.parts.flatMap((part) => ('toolCallId' in part && isOpen(part) ? [part.toolCallId] : []));
  switch (event.type) {
    case 'user.tool_confirmation':
    case 'user.custom_tool_result':
    case 'agent.tool_result':
      return open.includes(event.tool_use_id);
    case 'turn.completed':
    case 'turn.cancelled':
    case 'turn.failed':
      return open.length > 0;
    default:
      return false;
  }
}

const isOpen = ({ state }: { state: string }): boolean => state === 'approval-requested' || state === 'input-available';
