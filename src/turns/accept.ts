import type { EntityManager } from 'typeorm';
import type { EventData } from '../events/schema.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import { lockForTurn, openTurn, requireNoOpenTurn, requireRoom, type LockedSession, type QueuedTurn } from './open.js';

export type Message = Omit<EventData['user.message'], 'delivered_at_step'>;

const PREVIEW_LENGTH = 120;

/**
 * Stores a message as a queued turn with its `user.message`. Once it is committed the turn always reaches a terminal event, even if
 * this process dies.
 * @param namespace the Temporal namespace that runs the turn
 * @throws ServiceError session_not_found, session_running; and the commit too_many_running_turns
 */
export async function acceptMessage(
  tx: EntityManager,
  projectId: string,
  sessionId: string,
  message: Message,
  namespace: string,
): Promise<QueuedTurn> {
  return openWithMessage(tx, await lockForTurn(tx, projectId, sessionId), message, namespace);
}

/** The same in a session that is locked already. */
export async function openWithMessage(
  tx: EntityManager,
  session: LockedSession,
  message: Message,
  namespace: string,
): Promise<QueuedTurn> {
  await requireNoOpenTurn(tx, session);
  const { content, model_id = null, thinking_enabled = null } = message;
  const turn = { id: newId('turn'), trace: traceparent(), model_id, thinking_enabled };
  const first = { type: 'user.message', data: message } as const;
  const opened = openTurn(tx, session, turn, first, { namespace, preview: previewOf(content) });
  requireRoom(tx, session);
  return opened;
}

/** What `preview` of the session shows: the first 120 characters of its first message (contract.md §9). */
function previewOf(content: string): string {
  return [...content.slice(0, 2 * PREVIEW_LENGTH)].slice(0, PREVIEW_LENGTH).join('');
}
