import type { Turn } from '../db/entities/turns.js';
import { isOpen, type TurnState } from '../db/turn-states.js';
import { runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { EventRow } from '../events/store.js';
import { ServiceError } from '../platform/errors.js';
import { loadRequiredActions, sessionRunning } from '../sessions/required-actions.js';
import type { StartableTurn } from '../temporal/turn-workflows.js';

export interface QueuedTurn extends StartableTurn, Pick<Turn, 'number' | 'hasWaiting'> {
  event: EventRow;
}

export interface LockedSession {
  model_id: string;
  mcp_servers: number;
  last_state: TurnState | null;
  open_turns: number;
  max_running_turns: number;
  has_waiting: boolean;
  /** The decimal number that the turns so far cost, and whether a call of them had no price. */
  cost_before: string;
  was_unpriced: boolean;
  currency: string | null;
}

/**
 * The CTEs that open a turn; `written` is its row. `fresh` names the CTE with id, session_id, project_id, number, trace,
 * model_id, thinking_enabled, continues_turn_id, message_number, from_queue, has_waiting, cost_before, was_unpriced, currency
 * and at. The caller holds the lock of the session's row, or of its open turn, which the same transaction has ended.
 */
export function openTurn(fresh: Sql, namespace: string, preview: string | null = null): Sql {
  return sql`
    written AS (
      INSERT INTO turns (id, session_id, project_id, number, state, position, trace, model_id, thinking_enabled,
        continues_turn_id, message_number, from_queue, has_waiting, cost_before, was_unpriced, currency,
        queued_at, transition_at, progress_at)
      SELECT id, session_id, project_id, number, 'queued', 1, trace, model_id, thinking_enabled,
        continues_turn_id, message_number, from_queue, has_waiting, cost_before, was_unpriced, currency, at, at, at
      FROM ${fresh}
      RETURNING id, session_id, project_id, number, position, queued_at AS at),
    opened AS (
      INSERT INTO open_turns (turn_id, session_id, project_id, namespace)
      SELECT id, session_id, project_id, ${namespace} FROM written),
    counted AS (
      UPDATE sessions SET turn_count = written.number, last_turn_id = written.id,
        preview = CASE WHEN written.number = 1 THEN ${preview}::text ELSE preview END
      FROM written WHERE sessions.id = written.session_id)`;
}

/** Locks a session until the transaction ends, so that no other turn can be opened. @throws ServiceError session_not_found */
export async function lockForTurn(tx: Db, projectId: string, sessionId: string): Promise<LockedSession> {
  const [row] = await runSql<LockedSession>(
    tx,
    sql`SELECT model_id, mcp_servers, last_state, open_turns::integer AS open_turns, max_running_turns, has_waiting,
          cost_before, was_unpriced, currency
        FROM lock_session_for_turn(${projectId}, ${sessionId})`,
  );
  return row ?? sessionGone(sessionId);
}

/** @throws ServiceError too_many_running_turns */
export function requireRoom({ open_turns, max_running_turns }: LockedSession): void {
  if (open_turns >= max_running_turns) throw tooManyTurns(max_running_turns);
}

/** @throws ServiceError session_not_found */
export function sessionGone(sessionId: string): never {
  throw new ServiceError('session_not_found', `There is no session ${sessionId}.`);
}

/** Why a session takes no turn: one is open, or the project has no room. */
export async function refusal(
  db: Db,
  sessionId: string,
  { last_state, max_running_turns }: Pick<LockedSession, 'last_state' | 'max_running_turns'>,
): Promise<ServiceError> {
  if (last_state !== null && isOpen(last_state)) return sessionRunning(await loadRequiredActions(db, sessionId));
  return tooManyTurns(max_running_turns);
}

function tooManyTurns(limit: number): ServiceError {
  return new ServiceError(
    'too_many_running_turns',
    `The project has ${limit} queued or running turns, its limit. Send the message again after any of them ends.`,
    { max_running_turns: limit },
  );
}
