import { useEffect, useState } from 'preact/hooks';
import type { Session, WaitingMessage } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import type { Turn } from './conversation-log.js';

/** How often to look for messages that somebody else has sent, while a turn runs or some wait. */
const POLL_INTERVAL_MS = 5_000;
const MAX_WAITING = 100;

export interface Waiting {
  /** In order of delivery. */
  messages: WaitingMessage[];
  reload: () => Promise<void>;
}

/** The messages that wait in a session: those that the service lists, without those that were delivered since. */
export function useWaiting(sessionId: string, session: Session | null, turns: readonly Turn[]): Waiting {
  const client = useClient();
  const [listed, setListed] = useState<WaitingMessage[]>([]);
  const reload = async (): Promise<void> =>
    setListed((await client.listQueue(sessionId, { limit: MAX_WAITING })).items);
  const delivered = new Set(turns.flatMap(({ events }) => events.map(({ id }) => id)));
  const messages = listed.filter(({ id }) => !delivered.has(id));

  const mayWait = session?.status === 'RUNNING' || (session?.queue.length ?? 0) > 0 || messages.length > 0;
  useEffect(() => {
    if (!mayWait) return;
    // What fails here fails for the session too, which shows it.
    const look = (): void => void (document.hidden || reload().catch(() => undefined));
    look();
    const timer = setInterval(look, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [client, sessionId, mayWait, session]);
  return { messages, reload };
}
