import type { DataSource } from 'typeorm';
import { transaction } from '../../src/db/transaction.js';
import { acceptMessage as accept, type Message } from '../../src/turns/accept.js';
import type { QueuedTurn } from '../../src/turns/open.js';

/** Queues a turn without the API. */
export function acceptMessage(
  db: DataSource,
  projectId: string,
  sessionId: string,
  message: Message,
  namespace: string,
): Promise<QueuedTurn> {
  return transaction(db, (tx) => accept(tx, projectId, sessionId, message, namespace));
}
