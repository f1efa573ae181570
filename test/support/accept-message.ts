import type { Database, Tx } from '../../src/db/db.js';
import { transaction } from '../../src/db/transaction.js';
import { beginTurn } from '../../src/messages/accept.js';
import type { Message } from '../../src/messages/message.js';
import type { QueuedTurn } from '../../src/turns/begin.js';

/** Queues a turn without the API. */
export function acceptMessage(
  db: Database,
  projectId: string,
  sessionId: string,
  message: Message,
  namespace: string,
): Promise<QueuedTurn> {
  return transaction(db, async (tx: Tx) => {
    const session = { id: sessionId, project_id: projectId };
    const { started } = await beginTurn(tx, session, message, 'reject', { namespace, sentBy: null });
    return started!;
  });
}
