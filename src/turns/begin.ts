import type { Db, Tx } from '../db/db.js';
import type { TurnFields } from '../db/entities/turns.js';
import { sqlState, write, writeLast } from '../db/transaction.js';
import { type TurnState, isOpen } from '../db/turn-states.js';
import type { EventData } from '../events/schema.js';
import { type EventRow, insertEvents } from '../events/store.js';
import { ServiceError } from '../platform/errors.js';
import { exactText } from '../platform/exact-json.js';
import { foldCase } from '../platform/fold-case.js';
import { newId } from '../platform/ids.js';
import type { Logger } from '../platform/logger.js';
import { isChildRow } from '../sessions/child-session.js';
import {
  configurationOfSession,
  HAS_ENTRY,
  MODEL_ID,
  NEXT_CONFIGURATION,
  TURN_CONFIGURATION,
  type TurnConfiguration,
} from '../sessions/configured.js';
import { IS_ERASED } from '../sessions/erasing.js';
import { loadRequiredActions, sessionRunning } from '../sessions/required-actions.js';
import { insertWorkspace } from '../sessions/store.js';
import { sessionGone } from '../sessions/gone.js';
import type { Notifier } from '../stream/notify.js';
import type { StartableTurn, TurnWorkflows } from '../temporal/turn-workflows.js';
import { type TurnDeps, changeTurn, ifOpen } from './change-turn.js';
import type { EventToAppend, Turn } from './turn.js';

export interface QueuedTurn extends StartableTurn, Pick<TurnFields, 'number' | 'hasWaiting'> {
  event: EventRow;
}

/** A session whose row is locked, with what a new turn takes over from it and from the turns before. */
export interface LockedSession extends TurnConfiguration {
  id: string;
  project_id: string;
  /** The configuration has a workspace, and the session none yet. */
  lacks_workspace: boolean;
  model_id: string;
  mcp_servers: number;
  agents: number;
  parent_session_id: string | null;
  turn_count: number;
  last_state: TurnState | null;
  has_waiting: boolean;
  /** Its user is being erased: it takes no message. */
  is_erased: boolean;
  /** The decimal number that the turns so far cost, and whether a call of them had no price. */
  cost_before: string;
  was_unpriced: boolean;
  currency: string | null;
  now: string;
}

const LOCK_SESSION = 'SELECT FROM sessions WHERE id = $1 AND project_id = $2 FOR NO KEY UPDATE';
/** A statement of its own: after a wait for the lock, one statement would join the new session with the turn before. */
const READ_SESSION = `
  SELECT s.id, s.project_id, ${NEXT_CONFIGURATION('s')}, ${MODEL_ID} AS model_id, cardinality(c.mcp_servers) AS mcp_servers,
    s.agent_id IS NOT NULL AND ${HAS_ENTRY('workspace')}
      AND NOT EXISTS (SELECT FROM workspaces w WHERE w.session_id = s.id) AS lacks_workspace,
    CASE WHEN ${isChildRow('s')} THEN 0 ELSE c.agents END AS agents, s.parent_session_id, s.turn_count, t.state AS last_state,
    EXISTS (SELECT FROM waiting_messages w WHERE w.session_id = s.id) AS has_waiting,
    coalesce(t.cost_before + t.cost + t.delegated_cost, 0) AS cost_before,
    coalesce(t.was_unpriced OR t.is_unpriced OR t.is_delegated_unpriced, false) AS was_unpriced,
    ${IS_ERASED} AS is_erased, coalesce(t.currency, s.currency) AS currency, clock_timestamp() AS now
  FROM sessions s ${configurationOfSession('s')} LEFT JOIN turns t ON t.id = s.last_turn_id
  WHERE s.id = $1 AND s.project_id = $2 AND s.deleted_at IS NULL`;

/** Locks a session until the transaction ends, so that no other turn can be opened. @throws ServiceError session_not_found */
export async function lockForTurn(tx: Tx, projectId: string, sessionId: string): Promise<LockedSession> {
  write(tx, LOCK_SESSION, [sessionId, projectId]);
  const [session] = await tx.query<LockedSession[]>(READ_SESSION, [sessionId, projectId]);
  return session ?? sessionGone(sessionId);
}

/** The same for a new message or turn that a client asks for. @throws ServiceError session_not_found, also if its user is being erased */
export async function lockForRequest(tx: Tx, projectId: string, sessionId: string): Promise<LockedSession> {
  const session = await lockForTurn(tx, projectId, sessionId);
  return session.is_erased ? sessionGone(sessionId) : session;
}

export function hasOpenTurn({ last_state }: Pick<LockedSession, 'last_state'>): boolean {
  return last_state !== null && isOpen(last_state);
}

/** @throws ServiceError session_running */
export async function requireNoOpenTurn(db: Db, session: LockedSession): Promise<void> {
  if (hasOpenTurn(session)) throw sessionRunning(await loadRequiredActions(db, session.id));
}

/** Whose request began a turn: the key, and the person for whom the back end acts. */
export interface SentBy {
  keyId: string;
  actor: string | null;
}

interface NewTurn {
  /** Null for a schedule. */
  sent_by: SentBy | null;
  id: string;
  trace: string | null;
  /** Null: that of the session. */
  model_id: string | null;
  thinking_enabled: boolean | null;
  continues_turn_id?: string;
  message_number?: number;
  from_queue?: true;
  /** The turn that has a call on which this one works. */
  parent_turn_id?: string;
}

/** The turn, its place among the open ones, and what its session shows of it: one statement costs less than three. */
const OPEN_TURN = `
  WITH turn AS (
      INSERT INTO turns (id, session_id, project_id, number, state, position, trace, model_id, thinking_enabled,
        continues_turn_id, message_number, from_queue, has_waiting, cost_before, was_unpriced, currency,
        queued_at, transition_at, progress_at, ${TURN_CONFIGURATION.join(', ')},
        sent_by_key, sent_by_actor, parent_turn_id)
      VALUES ($1, $2, $3, $4::integer, 'queued', 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $15, $19, $20, $21, $22, $23,
        $24, $25, $26)),
    open AS (
      INSERT INTO open_turns (turn_id, session_id, project_id, namespace, parent_turn_id, parent_session_id)
      VALUES ($1, $2, $3, $16, $26, $27))
  UPDATE sessions SET turn_count = $4::integer, last_turn_id = $1,
    preview = CASE WHEN $4::integer = 1 THEN $17::text ELSE preview END,
    preview_folded = CASE WHEN $4::integer = 1 THEN $18::text ELSE preview_folded END
  WHERE id = $2`;

/**
 * Opens a turn with its first event. The transaction holds the lock of the session's row.
 * @param namespace the Temporal namespace that runs the turn
 */
export function openTurn(
  tx: Tx,
  session: LockedSession,
  turn: NewTurn,
  { id = newId('event'), type, data }: EventToAppend,
  { namespace, preview = null }: { namespace: string; preview?: string | null },
): QueuedTurn {
  const { id: sessionId, project_id: projectId, has_waiting: hasWaiting, now } = session;
  const number = session.turn_count + 1;
  const event = { id, type, data: exactText(data), turn_id: turn.id, position: 1, created_at: now };
  const folded = number === 1 && preview !== null ? foldCase(preview) : null;
  write(tx, OPEN_TURN, [
    ...[turn.id, sessionId, projectId, number, turn.trace, turn.model_id, turn.thinking_enabled],
    ...[turn.continues_turn_id ?? null, turn.message_number ?? null, turn.from_queue ?? false, hasWaiting],
    ...[session.cost_before, session.was_unpriced, session.currency, now, namespace, preview, folded],
    ...TURN_CONFIGURATION.map((column) => session[column]),
    ...[turn.sent_by?.keyId ?? null, turn.sent_by?.actor ?? null],
    ...[turn.parent_turn_id ?? null, session.parent_session_id],
  ]);
  if (session.lacks_workspace) insertWorkspace(tx, session);
  insertEvents(tx, { id: turn.id, session_id: sessionId, number }, [event]);
  return {
    ...{ id: turn.id, sessionId, projectId, number, event, runningMs: 0, trace: turn.trace, hasWaiting },
    ...{ modelId: turn.model_id ?? session.model_id, mcpServers: session.mcp_servers, agents: session.agents },
  };
}

/** SQLSTATE of `admit_turn` (src/db/migrations/1-baseline.sql). Its detail is the limit. */
const NO_ROOM = 'AS429';

/**
 * Refuses an opened turn if its project has no room for it. It is the last statement before the commit: the turns of a project that
 * is near its limit wait for each other there. The commit throws ServiceError too_many_running_turns.
 */
export function admitTurn(tx: Tx, { project_id }: Pick<LockedSession, 'project_id'>): void {
  writeLast(tx, 'SELECT admit_turn($1)', [project_id], (error) => {
    if (sqlState(error) !== NO_ROOM) return error;
    const limit = Number((error as { driverError: { detail: string } }).driverError.detail);
    return new ServiceError(
      'too_many_running_turns',
      `The project has ${limit} queued or running turns, its limit. Send the message again after any of them ends.`,
      { max_running_turns: limit },
    );
  });
}

export interface LaunchDeps {
  log: Logger;
  notifier: Notifier;
  workflows: Pick<TurnWorkflows, 'start' | 'namespace'>;
}

/** Runs after the transaction, without waiting. If the workflow does not start now, the reconciler starts it. */
export function launchTurn(deps: LaunchDeps, turn: QueuedTurn): void {
  // Streams may wait for the next turn of the session.
  deps.notifier.notify({ ...turn, position: 1 });
  deps.log.info({ turn_id: turn.id, session_id: turn.sessionId }, 'turn queued');
  deps.workflows
    .start(turn)
    .catch((err: unknown) =>
      deps.log.warn({ err, turn_id: turn.id }, 'a turn could not be started yet; the reconciler tries again'),
    );
}

/**
 * Claims a turn for running: queued → running. A running turn stays as it is (a retry, a replay, a reset). The workflow
 * id is the turn id, so only one workflow runs a turn.
 * @throws TurnEndedError
 */
export function claimTurn(
  deps: TurnDeps,
  turnId: string,
): Promise<Pick<Turn, 'projectId' | 'sessionId' | 'isConnected'>> {
  return changeTurn(deps, turnId, ifOpen, (turn) => {
    turn.claim();
    const { projectId, sessionId, isConnected } = turn;
    return { projectId, sessionId, isConnected };
  });
}

interface WaitingRow {
  id: string;
  turn_id: string;
  trace: string | null;
  data: EventData['user.message'];
  sent_by_key: string | null;
  sent_by_actor: string | null;
}

/** Those that were to steer a turn go before those that queue. A message that is withdrawn at this moment is not among them. */
const LOCK_WAITING = `
  SELECT id, turn_id, trace, data, sent_by_key, sent_by_actor FROM waiting_messages WHERE session_id = $1
  ORDER BY steers = 0, arrival FOR UPDATE`;

/** Makes the first message that waits in a locked session a turn; null if none waits. */
export async function startNext(tx: Tx, session: LockedSession, namespace: string): Promise<QueuedTurn | null> {
  const [first, ...others] = await tx.query<WaitingRow[]>(LOCK_WAITING, [session.id]);
  if (first === undefined) return null;
  const { id, turn_id, trace, data, sent_by_key: keyId, sent_by_actor: actor } = first;
  write(tx, 'DELETE FROM waiting_messages WHERE id = $1', [id]);
  const { model_id = null, thinking_enabled = null } = data;
  const sent_by = keyId === null ? null : { keyId, actor };
  const turn = { id: turn_id, trace, model_id, thinking_enabled, from_queue: true, sent_by } as const;
  const locked = { ...session, has_waiting: others.length > 0 };
  return openTurn(tx, locked, turn, { id, type: 'user.message', data }, { namespace });
}
