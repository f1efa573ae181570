import type { Database } from '../db/db.js';
import { transaction } from '../db/transaction.js';
import { admitTurn, hasOpenTurn, lockForRequest, type QueuedTurn, startNext } from '../turns/begin.js';

/**
 * Starts the first message of a held queue; null if none is held.
 * @throws ServiceError session_not_found, too_many_running_turns
 */
export function releaseQueue(
  db: Database,
  projectId: string,
  sessionId: string,
  namespace: string,
): Promise<QueuedTurn | null> {
  return transaction(db, async (tx) => {
    const locked = await lockForRequest(tx, projectId, sessionId);
    if (!locked.has_waiting || hasOpenTurn(locked)) return null;
    admitTurn(tx, locked);
    return startNext(tx, locked, namespace);
  });
}
