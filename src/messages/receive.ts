import type { EntityManager } from 'typeorm';
import { isOpen } from '../db/turn-states.js';
import { transaction, type Db } from '../db/transaction.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { findSessionState, type SessionState } from '../sessions/store.js';
import { hasOpenTurn, lockForTurn, requireRoom, sessionGone, type QueuedTurn } from '../turns/open.js';
import { openWithMessage, type Message } from '../turns/accept.js';
import { changeTurn, ifOpen, lockTurn, type TurnDeps } from '../turns/change-turn.js';
import { TurnEndedError } from '../turns/errors.js';
import { saveTurn } from '../turns/save-turn.js';
import { startNext } from '../turns/start-next.js';
import { showWaiting, type ShowDeps } from '../turns/show-waiting.js';
import { enqueue, MAX_WAITING_MESSAGES, type WaitingMessage } from './queue.js';

/** What became of a message: it waits, or it began a turn. `started`: the turn to launch. */
export type Received = { waits: WaitingMessage; started: QueuedTurn | null } | { waits: null; started: QueuedTurn };

type ReceiveDeps = TurnDeps & ShowDeps & { workflows: { namespace: string } };

type Record = (db: Db, received: Received) => Promise<void>;

/**
 * Receives a message that may wait: behind the open turn, in it, or behind messages that are held. Without any of them it
 * begins a turn at once. `record` runs in the same transaction.
 * @throws ServiceError validation_error, queue_full, and those of `acceptMessage`
 */
export async function receiveMessage(
  deps: ReceiveDeps,
  session: Pick<SessionState, 'id' | 'project_id'>,
  message: Message,
  mode: 'queue' | 'steer',
  record: Record,
): Promise<Received> {
  for (;;) {
    const now = (await findSessionState(deps.db, session.project_id, session.id)) ?? sessionGone(session.id);
    const isRunning = now.turn_state !== null && isOpen(now.turn_state);
    const received = isRunning
      ? await addToTurn(deps, session.id, now.last_turn_id!, message, mode, record)
      : await begin(deps, session, message, mode, record);
    if (received !== null) return received;
  }
}

/** Lets the message wait for an open turn; null if that has ended. */
async function addToTurn(
  deps: ReceiveDeps,
  sessionId: string,
  turnId: string,
  message: Message,
  mode: 'queue' | 'steer',
  record: Record,
): Promise<Received | null> {
  if (mode === 'steer') checkSteering(message);
  try {
    const received = await changeTurn(deps, turnId, ifOpen, async (turn, tx) => {
      const steers = mode === 'steer' ? turn.number : 0;
      const received = { waits: await enqueue(tx, sessionId, message, { steers }), started: null };
      turn.expectMessages();
      await record(tx, received);
      return received;
    });
    showWaiting(deps, turnId);
    return received;
  } catch (error) {
    if (error instanceof TurnEndedError) return null;
    throw error;
  }
}

/** The open turn has skills, a model, thinking and the schema of its output, or none, already. */
function checkSteering({ skills, model_id, thinking_enabled, output_schema }: Message): void {
  const fields = [
    ['skills', skills.length > 0],
    ['model_id', model_id !== undefined],
    ['thinking_enabled', thinking_enabled !== undefined],
    ['output_schema', output_schema !== undefined],
  ] as const;
  const wrong = fields.find(([, isGiven]) => isGiven);
  if (wrong !== undefined) throw validationError(`/${wrong[0]}`, 'cannot be changed in the open turn by steer');
}

/** Begins a turn; null if another one is open by now. */
async function begin(
  deps: ReceiveDeps,
  session: Pick<SessionState, 'id' | 'project_id'>,
  message: Message,
  mode: 'queue' | 'steer',
  record: Record,
): Promise<Received | null> {
  try {
    return await transaction(deps.db, async (tx) => {
      const received = await beginTurn(tx, session, message, mode, deps.workflows.namespace);
      await record(tx, received);
      return received;
    });
  } catch (error) {
    if (error instanceof ServiceError && error.type === 'session_running') return null;
    throw error;
  }
}

/**
 * Begins a turn in a transaction. Messages that are held go before one that queues.
 * @throws ServiceError those of `acceptMessage`
 */
export async function beginTurn(
  tx: EntityManager,
  { id, project_id }: Pick<SessionState, 'id' | 'project_id'>,
  message: Message,
  mode: 'queue' | 'steer',
  namespace: string,
): Promise<Received> {
  const locked = await lockForTurn(tx, project_id, id);
  if (mode === 'steer' || !locked.has_waiting || hasOpenTurn(locked)) {
    return { waits: null, started: await openWithMessage(tx, locked, message, namespace) };
  }
  // The first one leaves the queue.
  const waits = await enqueue(tx, id, message, { room: MAX_WAITING_MESSAGES + 1 });
  const started = await startNext(tx, locked, namespace);
  requireRoom(tx, locked);
  return started?.event.id === waits.id ? { waits: null, started } : { waits, started };
}

/** Lets a message wait for the turn after the open one, whose row the transaction has locked. @throws ServiceError queue_full */
export async function waitForTurn(
  tx: EntityManager,
  sessionId: string,
  openTurnId: string,
  message: Message,
): Promise<Received> {
  const turn = await lockTurn(tx, openTurnId, ifOpen);
  const waits = await enqueue(tx, sessionId, message);
  turn.expectMessages();
  saveTurn(tx, turn, {});
  return { waits, started: null };
}
