import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import type { EventData } from '../events/schema.js';
import { openTurn, type LockedSession, type QueuedTurn } from './open.js';

interface WaitingRow {
  id: string;
  turn_id: string;
  trace: string | null;
  data: EventData['user.message'];
}

/** Those that were to steer a turn go before those that queue. A message that is withdrawn at this moment is not among them. */
const LOCK_WAITING = `
  SELECT id, turn_id, trace, data FROM waiting_messages WHERE session_id = $1
  ORDER BY steers = 0, arrival FOR UPDATE`;

/** Makes the first message that waits in a locked session a turn; null if none waits. */
export async function startNext(tx: Tx, session: LockedSession, namespace: string): Promise<QueuedTurn | null> {
  const [first, ...others] = await tx.query<WaitingRow[]>(LOCK_WAITING, [session.id]);
  if (first === undefined) return null;
  const { id, turn_id, trace, data } = first;
  write(tx, 'DELETE FROM waiting_messages WHERE id = $1', [id]);
  const { model_id = null, thinking_enabled = null } = data;
  const turn = { id: turn_id, trace, model_id, thinking_enabled, from_queue: true } as const;
  const locked = { ...session, has_waiting: others.length > 0 };
  return openTurn(tx, locked, turn, { id, type: 'user.message', data }, { namespace });
}
