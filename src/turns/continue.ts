import type { EntityManager } from 'typeorm';
import { isOpen, type TurnState } from '../db/turn-states.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { insertEvents, newEvents } from '../events/store.js';
import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import { continuable } from '../sessions/store.js';
import { lockForTurn, openTurn, refusal, requireRoom, type QueuedTurn } from './open.js';

/**
 * Opens a turn that goes on after the last stored step of the session's last turn, with its message, model and thinking.
 * @throws ServiceError session_not_found, session_running, turn_not_continuable, too_many_running_turns
 */
export async function continueTurn(
  tx: EntityManager,
  projectId: string,
  sessionId: string,
  namespace: string,
): Promise<QueuedTurn> {
  const locked = await lockForTurn(tx, projectId, sessionId);
  if (locked.last_state !== null && isOpen(locked.last_state)) throw await refusal(tx, sessionId, locked);
  const [last] = await runSql<{ id: string; state: TurnState; continuable: boolean }>(
    tx,
    sql`SELECT t.id, t.state, ${rawSql(continuable('t'))} AS continuable
        FROM sessions JOIN turns t ON t.id = last_turn_id WHERE sessions.id = ${sessionId}`,
  );
  if (last?.continuable !== true) throw notContinuable(last?.state);
  requireRoom(locked);
  const id = newId('turn');
  const trace = traceparent();
  const [event] = newEvents([{ type: 'turn.continued', data: { continues_turn_id: last.id } }]);
  const [row] = await runSql<{ model_id: string; number: number; at: string }>(
    tx,
    sql`WITH new_turn AS MATERIALIZED (
          SELECT ${id}::text AS id, session_id, project_id, number + 1 AS number, ${trace}::text AS trace, model_id,
            thinking_enabled, id AS continues_turn_id, coalesce(message_number, number) AS message_number,
            false AS from_queue, ${locked.has_waiting}::boolean AS has_waiting,
            ${locked.cost_before}::numeric AS cost_before, ${locked.was_unpriced}::boolean AS was_unpriced,
            ${locked.currency}::text AS currency, clock_timestamp() AS at
          FROM turns WHERE id = ${last.id}),
        ${openTurn(sql`new_turn`, namespace)},
        ${insertEvents(sql`written`, [event!])}
        SELECT coalesce(model_id, ${locked.model_id}) AS model_id, written.number, written.at
        FROM written JOIN new_turn USING (id)`,
  );
  const { model_id: modelId, number, at } = row!;
  const stored = { ...event!, turn_id: id, position: 1, created_at: at };
  return {
    ...{ id, sessionId, projectId, number, modelId, mcpServers: locked.mcp_servers },
    ...{ runningMs: 0, trace, event: stored },
    hasWaiting: locked.has_waiting,
  };
}

function notContinuable(state: TurnState | undefined): ServiceError {
  if (state === undefined) return refuse('no_turn', 'The session has no turn yet. Send a message.');
  if (state === 'completed') return refuse('completed', 'The last turn has completed. Send a message.');
  return refuse(
    'context_too_long',
    'The last turn does not fit into the context of its model. Send a shorter message.',
  );
}

function refuse(reason: string, message: string): ServiceError {
  return new ServiceError('turn_not_continuable', message, { reason });
}
