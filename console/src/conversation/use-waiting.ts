import { useState } from 'preact/hooks';
import type { Session, WaitingMessage } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import type { Turn } from './conversation-log.js';
import { usePoll } from './use-poll.js';

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
  // Somebody else may send messages too.
  usePoll(mayWait, reload, [client, sessionId, session]);
  return { messages, reload };
}
