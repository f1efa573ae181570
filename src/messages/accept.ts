import type { Tx } from '../db/db.js';
import { isOpen } from '../db/turn-states.js';
import { transaction } from '../db/transaction.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import { findSessionState, type SessionState } from '../sessions/store.js';
import { changeTurn, changeTurnIn, ifOpen, type TurnDeps } from '../turns/change-turn.js';
import { TurnEndedError } from '../turns/errors.js';
import {
  admitTurn,
  hasOpenTurn,
  type LockedSession,
  lockForRequest,
  openTurn,
  type QueuedTurn,
  requireNoOpenTurn,
  type SentBy,
  startNext,
} from '../turns/begin.js';
import { sessionGone } from '../sessions/gone.js';
import type { Message } from './message.js';
import { enqueue, MAX_WAITING_MESSAGES, type WaitingMessage } from './queue.js';

/** What becomes of a message while a turn is open: it is refused, it waits for a turn of its own, or the open turn gets it. */
export type WhenRunning = 'reject' | 'queue' | 'steer';

/** What became of a message: it waits, or it began a turn. `started`: the turn to launch. */
export type Accepted = { waits: WaitingMessage; started: QueuedTurn | null } | { waits: null; started: QueuedTurn };

type AcceptDeps = TurnDeps & { workflows: { namespace: string } };

type RecordAnswer = (tx: Tx, accepted: Accepted) => Promise<void>;

/** The request of a message. */
interface Sending {
  record: RecordAnswer;
  sentBy: SentBy;
}

interface TurnPlace {
  namespace: string;
  sentBy: SentBy | null;
}

/** What `preview` of a session shows: the first 120 characters of its first message (decisions.md "Messages while a turn runs"). */
const PREVIEW_LENGTH = 120;

/**
 * Stores a message. It begins a turn, unless it has to wait: behind the open turn, in it, or behind messages that are held. Once a turn
 * is committed it always reaches a terminal event, even if this process dies. `record` runs in the same transaction.
 * @param session as it was a moment ago
 * @throws ServiceError validation_error, session_not_found, session_running, queue_full, too_many_running_turns
 */
export async function acceptMessage(
  deps: AcceptDeps,
  session: SessionState,
  message: Message,
  mode: WhenRunning,
  { record, sentBy }: Sending,
): Promise<Accepted> {
  for (let now = session; ; now = (await findSessionState(deps.db, now.project_id, now.id)) ?? sessionGone(now.id)) {
    const isRunning = now.turn_state !== null && isOpen(now.turn_state);
    const accepted =
      isRunning && mode !== 'reject'
        ? await addToTurn(deps, now.id, now.last_turn_id!, message, mode, { record, sentBy })
        : await begin(deps, now, message, mode, { record, sentBy });
    if (accepted !== null) return accepted;
  }
}

/** Lets the message wait for an open turn; null if that has ended. */
async function addToTurn(
  deps: AcceptDeps,
  sessionId: string,
  turnId: string,
  message: Message,
  mode: 'queue' | 'steer',
  { record, sentBy }: Sending,
): Promise<Accepted | null> {
  if (mode === 'steer') checkSteering(message);
  try {
    return await changeTurn(deps, turnId, ifOpen, async (turn, tx) => {
      const steers = mode === 'steer' ? turn.number : 0;
      const accepted = { waits: await enqueue(tx, sessionId, message, { steers, sentBy }), started: null };
      turn.expectMessages();
      await record(tx, accepted);
      return accepted;
    });
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

/** Begins a turn; null if another one is open by now, for which the message may wait. */
async function begin(
  deps: AcceptDeps,
  session: SessionState,
  message: Message,
  mode: WhenRunning,
  { record, sentBy }: Sending,
): Promise<Accepted | null> {
  try {
    return await transaction(deps.db, async (tx) => {
      const accepted = await beginTurn(tx, session, message, mode, { namespace: deps.workflows.namespace, sentBy });
      await record(tx, accepted);
      return accepted;
    });
  } catch (error) {
    if (mode !== 'reject' && error instanceof ServiceError && error.type === 'session_running') return null;
    throw error;
  }
}

/**
 * Begins a turn in a transaction, whose commit throws too_many_running_turns. Messages that are held go before one that queues.
 * @param place `namespace`: the Temporal namespace that runs the turn; `sentBy`: whose request began it, null for a schedule
 * @throws ServiceError session_not_found, session_running, queue_full
 */
export async function beginTurn(
  tx: Tx,
  { id, project_id }: Pick<SessionState, 'id' | 'project_id'>,
  message: Message,
  mode: WhenRunning,
  { namespace, sentBy }: TurnPlace,
): Promise<Accepted> {
  const locked = await lockForRequest(tx, project_id, id);
  if (mode !== 'queue' || !locked.has_waiting || hasOpenTurn(locked)) {
    return { waits: null, started: await openWithMessage(tx, locked, message, { namespace, sentBy }) };
  }
  // The first one leaves the queue.
  const waits = await enqueue(tx, id, message, { room: MAX_WAITING_MESSAGES + 1, sentBy });
  const started = await startNext(tx, locked, namespace);
  admitTurn(tx, locked);
  return started?.event.id === waits.id ? { waits: null, started } : { waits, started };
}

async function openWithMessage(
  tx: Tx,
  session: LockedSession,
  message: Message,
  { namespace, sentBy }: TurnPlace,
): Promise<QueuedTurn> {
  await requireNoOpenTurn(tx, session);
  const { content, model_id = null, thinking_enabled = null } = message;
  const turn = { id: newId('turn'), trace: traceparent(), model_id, thinking_enabled, sent_by: sentBy };
  const place = { namespace, preview: previewOf(content) };
  const opened = openTurn(tx, session, turn, { type: 'user.message', data: message }, place);
  admitTurn(tx, session);
  return opened;
}

export function previewOf(content: string): string {
  return [...content.slice(0, 2 * PREVIEW_LENGTH)].slice(0, PREVIEW_LENGTH).join('');
}

/** Lets a message wait for the turn after the open one, whose row the transaction has locked. @throws ServiceError queue_full */
export async function waitForTurn(tx: Tx, sessionId: string, openTurnId: string, message: Message): Promise<Accepted> {
  const { value: waits } = await changeTurnIn(tx, {}, openTurnId, ifOpen, (turn) => {
    turn.expectMessages();
    return enqueue(tx, sessionId, message);
  });
  return { waits, started: null };
}
