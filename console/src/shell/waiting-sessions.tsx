import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';

const INTERVAL_MS = 5_000;
const HIDDEN_INTERVAL_MS = 30_000;
const PAGE = 100;

interface WaitingSessions {
  /** Those that waited when they were read, newest activity first; null before. */
  sessions: Session[] | null;
  /** There are more than a page of them. */
  hasMore: boolean;
  error: unknown;
  reload: () => Promise<void>;
}

const Context = createContext<WaitingSessions>({
  sessions: null,
  hasMore: false,
  error: null,
  reload: () => Promise.resolve(),
});

/** Reads which sessions wait for a person, again and again: the count in the navigation and the inbox show them. */
export function WaitingSessionsProvider({ children }: { children: ComponentChildren }) {
  const client = useClient();
  const [state, setState] = useState<Omit<WaitingSessions, 'reload'>>({ sessions: null, hasMore: false, error: null });
  const newest = useRef(0);
  const reload = async (): Promise<void> => {
    const request = (newest.current += 1);
    try {
      const page = await client.listSessions({ requires_action: true, order: 'activity', limit: PAGE });
      if (request !== newest.current) return;
      setState({ sessions: page.items, hasMore: page.meta.next_cursor !== null, error: null });
    } catch (error) {
      setState((before) => ({ ...before, error }));
    }
  };
  useEffect(() => {
    let timer = 0;
    let left = false;
    const repeat = async (): Promise<void> => {
      await reload();
      if (left) return;
      timer = window.setTimeout(() => void repeat(), document.hidden ? HIDDEN_INTERVAL_MS : INTERVAL_MS);
    };
    void repeat();
    return () => {
      left = true;
      newest.current += 1;
      clearTimeout(timer);
    };
  }, [client]);
  const value = useMemo(() => ({ ...state, reload }), [state, client]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function useWaitingSessions(): WaitingSessions {
  return useContext(Context);
}
