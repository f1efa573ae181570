import type { Tx } from '../db/db.js';
import { savepoint } from '../db/transaction.js';
import { requireStorage } from '../files/storage-limit.js';
import { beginTurn, waitForTurn, type Accepted } from '../messages/accept.js';
import { resolveMessage, type Message, type MessageBody } from '../messages/message.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import type { Config } from '../platform/config.js';
import { ServiceError, type ErrorType } from '../platform/errors.js';
import { isErased } from '../sessions/erasing.js';
import { sessionGone } from '../sessions/gone.js';
import { requireModel } from '../sessions/configuration.js';
import { createSession, resolveNewSession, type NewSessionBody } from '../agents/new-session.js';
import { findSession, type Session } from '../sessions/store.js';
import type { QueuedTurn } from '../turns/begin.js';
import type { Run } from './runs.js';
import type { LockedSchedule } from './lock.js';
import type { SkipReason } from './schedule.js';

export type Target =
  | { type: 'new_session'; session: NewSessionBody }
  | { type: 'existing_session'; session_id: string };

export interface Started {
  /** `started_at` is null while the message waits for its turn. */
  run: Pick<Run, 'session_id' | 'turn_id' | 'started_at'>;
  /** The turn to launch after the transaction; with a queue that was held, that of an earlier message. */
  turn: QueuedTurn | null;
}

/** The errors of POST sessions and POST messages that a later time does not have to meet again. */
const REASON_OF: Partial<Record<ErrorType, SkipReason>> = {
  session_not_found: 'not_found',
  file_not_found: 'not_found',
  skill_not_found: 'not_found',
  mcp_server_not_found: 'not_found',
  agent_not_found: 'not_found',
  agent_version_not_found: 'not_found',
  unknown_mcp_tool: 'not_found',
  workspace_unavailable: 'workspace_unavailable',
  unknown_model: 'not_found',
  // The price of a model is gone, or its currency, and the session has a budget.
  validation_error: 'not_found',
  session_running: 'session_running',
  too_many_running_turns: 'too_many_running_turns',
  queue_full: 'queue_full',
  storage_limit_reached: 'storage_limit_reached',
};

interface StartDeps {
  models: ModelCatalogue;
  namespace: string;
  config: Pick<Config, 'sandboxProvider' | 'maxStoragePerProject'>;
}

/**
 * Starts a turn for a locked schedule as POST messages does, in a new session as POST sessions makes it where the target
 * says so. With `overlap: "queue"` the message waits for the open turn. Returns the reason if nothing can be started
 * now; nothing is left of a session that was not used.
 */
export async function startTurn(
  tx: Tx,
  deps: StartDeps,
  schedule: Pick<LockedSchedule, 'id' | 'project_id' | 'target' | 'message' | 'overlap' | 'open_turn_id'>,
): Promise<Started | SkipReason> {
  const target = JSON.parse(schedule.target) as Target;
  const body = JSON.parse(schedule.message) as MessageBody;
  try {
    // A savepoint: a refused turn takes its new session with it.
    return await savepoint(tx, async () => {
      await requireStorage(tx, schedule.project_id, deps.config.maxStoragePerProject);
      const session = await sessionOf(tx, deps, schedule.project_id, target);
      const resolved = await resolveMessage({ db: tx, models: deps.models }, schedule.project_id, body, session);
      const message = { ...resolved, schedule_id: schedule.id };
      const accepted = await send(tx, deps, schedule, session.id, message);
      return startedBy(accepted, session.id);
    });
  } catch (error) {
    const reason = error instanceof ServiceError ? REASON_OF[error.type] : undefined;
    if (reason === undefined) throw error;
    return reason;
  }
}

async function send(
  tx: Tx,
  { namespace }: StartDeps,
  { project_id, overlap, open_turn_id }: Pick<LockedSchedule, 'project_id' | 'overlap' | 'open_turn_id'>,
  id: string,
  message: Message,
): Promise<Accepted> {
  if (overlap === 'queue' && open_turn_id !== null) {
    if (await isErased(tx, id)) sessionGone(id);
    return waitForTurn(tx, id, open_turn_id, message);
  }
  const mode = overlap === 'skip' ? 'reject' : 'queue';
  return beginTurn(tx, { id, project_id }, message, mode, { namespace, sentBy: null });
}

function startedBy({ waits, started }: Accepted, sessionId: string): Started {
  const run =
    waits === null
      ? { turn_id: started.id, started_at: started.event.created_at }
      : { turn_id: waits.turn_id, started_at: null };
  return { run: { ...run, session_id: sessionId }, turn: started };
}

/** @throws ServiceError for what is gone */
async function sessionOf(
  tx: Tx,
  { models, config }: StartDeps,
  projectId: string,
  target: Target,
): Promise<Pick<Session, 'id' | 'tools' | 'budget'>> {
  if (target.type === 'new_session') {
    return createSession(tx, projectId, await resolveNewSession({ db: tx, models, config }, projectId, target.session));
  }
  const session = await findSession(tx, projectId, target.session_id);
  if (session === null) throw new ServiceError('session_not_found', 'The session of the schedule is deleted.');
  requireModel(models, session.model_id);
  return session;
}
