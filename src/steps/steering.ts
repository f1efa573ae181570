import type { Tx } from '../db/db.js';
import type { EventData } from '../events/schema.js';
import { RequestOutdatedError } from '../models/request.js';
import type { Turn } from '../turns/turn.js';

/** The request was built before the messages that now steer the turn. */
export class SteeringChangedError extends RequestOutdatedError {
  override readonly name = 'SteeringChangedError';
  override readonly message = 'the messages that steer the turn have changed';
}

interface Taken {
  id: string;
  data: EventData['user.message'];
  arrival: number;
}

const TAKE = 'DELETE FROM waiting_messages WHERE session_id = $1 AND steers = $2 RETURNING id, data, arrival';

/**
 * Gives the turn the messages that steer it, in the change that begins the model call of a step.
 * @param requested the ids of those in the request of the call
 * @throws SteeringChangedError if other ones wait
 */
export async function deliverSteering(tx: Tx, turn: Turn, step: number, requested: string[]): Promise<void> {
  const [taken] = await tx.query<[Taken[], number]>(TAKE, [turn.sessionId, turn.number]);
  const messages = taken.toSorted((one, other) => one.arrival - other.arrival);
  if (messages.length !== requested.length || messages.some(({ id }, n) => id !== requested[n])) {
    throw new SteeringChangedError();
  }
  for (const { id, data } of messages) {
    turn.append({ id, type: 'user.message', data: { ...data, delivered_at_step: step } });
  }
}
