import type { EntityManager } from 'typeorm';
import { resolveMessage, type MessageBody } from '../messages/message.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import { ServiceError, type ErrorType } from '../platform/errors.js';
import { createSession, requireModel, resolveNewSession, type NewSessionBody } from '../sessions/new-session.js';
import { findSession } from '../sessions/store.js';
import type { QueuedTurn } from '../turns/open.js';
import { queueTurn } from '../turns/queue.js';
import type { Schedule, SkipReason } from './schedule.js';

/** A target as it is stored. */
export type Target =
  | { type: 'new_session'; session: NewSessionBody }
  | { type: 'existing_session'; session_id: string };

/** A turn that a schedule queued; it is launched after the transaction. */
export type ScheduledTurn = QueuedTurn & { mayWait: boolean };

/** The errors of POST sessions and POST messages that a later time does not have to meet again. */
const REASON_OF: Partial<Record<ErrorType, SkipReason>> = {
  file_not_found: 'not_found',
  skill_not_found: 'not_found',
  mcp_server_not_found: 'not_found',
  unknown_mcp_tool: 'not_found',
  unknown_model: 'not_found',
  session_running: 'session_running',
  too_many_running_turns: 'too_many_running_turns',
};

interface StartDeps {
  models: ModelCatalogue;
  /** The Temporal namespace that runs the turn. */
  namespace: string;
}

/**
 * Queues a turn for a locked schedule as POST messages does, in a new session as POST sessions makes it where the
 * target says so. Returns the reason if nothing can be started now; nothing is left of a session that was not used.
 *
 * `overlap: "queue"` belongs here, where the session has an open turn: until messages can wait for their turn
 * (docs/contract.md §9), such a time is skipped as `session_running`.
 */
export async function startTurn(
  tx: EntityManager,
  deps: StartDeps,
  schedule: Pick<Schedule, 'id' | 'project_id' | 'target' | 'message'>,
): Promise<ScheduledTurn | SkipReason> {
  const target = JSON.parse(schedule.target) as Target;
  const body = JSON.parse(schedule.message) as MessageBody;
  try {
    // A savepoint: a refused turn takes its new session with it.
    return await tx.transaction(async (inner) => {
      const session = await sessionOf(inner, deps, schedule.project_id, target);
      const message = await resolveMessage({ db: inner, models: deps.models }, schedule.project_id, body);
      const turn = await queueTurn(
        inner,
        schedule.project_id,
        session.id,
        { ...message, schedule_id: schedule.id },
        deps.namespace,
      );
      return { ...turn, mayWait: session.tools !== '[]' };
    });
  } catch (error) {
    const reason = error instanceof ServiceError ? REASON_OF[error.type] : undefined;
    if (reason === undefined) throw error;
    return reason;
  }
}

/** @throws ServiceError for what is gone */
async function sessionOf(
  tx: EntityManager,
  { models }: StartDeps,
  projectId: string,
  target: Target,
): Promise<{ id: string; tools: string }> {
  if (target.type === 'new_session') {
    return createSession(tx, projectId, await resolveNewSession({ db: tx, models }, projectId, target.session));
  }
  const session = await findSession(tx, projectId, target.session_id);
  if (session === null) throw new ServiceError('session_not_found', 'The session of the schedule is deleted.');
  requireModel(models, session.model_id);
  return session;
}
