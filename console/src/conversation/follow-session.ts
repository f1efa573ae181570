import type { AgentSessionClient, Event, Session, StreamEvent } from '../../../client/src/index.js';

/** How often to look for a turn that somebody else has started. */
const POLL_INTERVAL_MS = 5_000;
const PAGE = 100;

interface Observer {
  onEvent: (event: StreamEvent) => void;
  onSession: (session: Session) => void;
  /** The history has been read to its end. */
  onHistory: () => void;
}

interface Follower {
  /** Looks at the session now instead of at the next poll. */
  wake: () => void;
  /** Rejects when the session cannot be followed any more: it was deleted, or the key lacks a permission. */
  done: Promise<void>;
}

/** Reports what happens in a session, in order: its history, the stream of each turn, and what came in between. */
export function followSession(
  client: AgentSessionClient,
  sessionId: string,
  signal: AbortSignal,
  observer: Observer,
): Follower {
  let endWait = (): void => undefined;
  /** The wait may not have begun: the session or its history is being read. */
  let isWoken = false;
  const wake = (): void => {
    isWoken = true;
    endWait();
  };
  const readHistory = createHistoryReader(client, sessionId, signal, observer.onEvent);

  const follow = async (): Promise<void> => {
    let last: Session | null = null;
    while (!signal.aborted) {
      isWoken = false;
      const session = await client.getSession(sessionId, { signal });
      observer.onSession(session);
      if (session.updated_at !== last?.updated_at) {
        await readHistory();
        observer.onHistory();
      }
      last = session;
      if (session.status === 'RUNNING') {
        // The client reconnects where the stream broke off, however long the service is away.
        for await (const event of client.stream(sessionId, { signal, reconnectForMs: Infinity }))
          observer.onEvent(event);
        last = null;
      } else if (!isWoken) {
        await new Promise<void>((resolve) => {
          endWait = resolve;
          setTimeout(resolve, POLL_INTERVAL_MS);
        });
        while (document.hidden && !signal.aborted) await nextVisibilityChange(signal);
      }
    }
  };
  return { wake, done: follow() };
}

/** Reads the history from where it ended the last time: the last page is read again, it may have grown. */
function createHistoryReader(
  client: AgentSessionClient,
  sessionId: string,
  signal: AbortSignal,
  onEvent: (event: Event) => void,
): () => Promise<void> {
  let lastPage: string | undefined;
  return async () => {
    for (;;) {
      const { items, meta } = await client.listEvents(sessionId, { limit: PAGE, cursor: lastPage }, { signal });
      items.forEach(onEvent);
      if (meta.next_cursor === null) return;
      lastPage = meta.next_cursor;
    }
  };
}

function nextVisibilityChange(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal });
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
