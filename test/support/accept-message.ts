import type { DataSource, EntityManager } from 'typeorm';
import { transaction } from '../../src/db/transaction.js';
import { beginTurn } from '../../src/messages/accept.js';
import type { Message } from '../../src/messages/message.js';
import type { QueuedTurn } from '../../src/turns/open.js';

/** Queues a turn without the API. */
export function acceptMessage(
  db: DataSource,
  projectId: string,
  sessionId: string,
  message: Message,
  namespace: string,
): Promise<QueuedTurn> {
  return transaction(db, async (tx: EntityManager) => {
    const { started } = await beginTurn(tx, { id: sessionId, project_id: projectId }, message, 'reject', namespace);
    return started!;
  });
}
