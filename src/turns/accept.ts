import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { EventData } from '../events/schema.js';
import { insertEvents, newEvents } from '../events/store.js';
import { OPEN_STATES } from '../db/turn-states.js';
import { openTurn, refusal, sessionGone, type LockedSession, type QueuedTurn } from './open.js';

export type Message = Omit<EventData['user.message'], 'delivered_at_step'>;

const PREVIEW_LENGTH = 120;

type Row = Pick<LockedSession, 'model_id' | 'mcp_servers' | 'last_state' | 'max_running_turns' | 'has_waiting'> & {
  /** Null when the turn was refused. */
  at: string | null;
  number: number;
};

/**
 * Stores a message as a queued turn with its `user.message`, in one statement: locks the session's row, decides 404, 409
 * and 429. From here on the turn always reaches a terminal event, even if this process dies.
 *
 * The limit of the project's turns is checked without a lock where more room is left than Postgres has connections; else
 * the messages of the project wait for each other (`lock_session_for_turn`).
 * @param namespace the Temporal namespace that runs the turn
 * @throws ServiceError session_not_found, session_running, too_many_running_turns
 */
export async function acceptMessage(
  db: Db,
  projectId: string,
  sessionId: string,
  message: Message,
  namespace: string,
): Promise<QueuedTurn> {
  const id = newId('turn');
  const trace = traceparent();
  const [event] = newEvents([{ type: 'user.message', data: message }]);
  const { content, model_id = null, thinking_enabled = null } = message;
  const [row] = await runSql<Row>(
    db,
    sql`WITH session AS MATERIALIZED (
          SELECT model_id, mcp_servers, turn_count, last_state, open_turns, max_running_turns, has_waiting,
            cost_before, was_unpriced, currency
          FROM lock_session_for_turn(${projectId}, ${sessionId})),
        new_turn AS MATERIALIZED (
          SELECT ${id}::text AS id, ${sessionId}::text AS session_id, ${projectId}::text AS project_id,
            turn_count + 1 AS number, ${trace}::text AS trace, ${model_id}::text AS model_id,
            ${thinking_enabled}::boolean AS thinking_enabled, NULL::text AS continues_turn_id,
            NULL::integer AS message_number, false AS from_queue, has_waiting, cost_before, was_unpriced, currency,
            clock_timestamp() AS at
          FROM session
          WHERE open_turns < max_running_turns AND (last_state IS NULL OR last_state <> ALL(${OPEN_STATES}::text[]))),
        ${openTurn(sql`new_turn`, namespace, previewOf(content))},
        ${insertEvents(sql`written`, [event!])}
        SELECT model_id, mcp_servers, last_state, max_running_turns, has_waiting, written.number, written.at
        FROM session LEFT JOIN written ON true`,
  );
  if (row === undefined) return sessionGone(sessionId);
  if (row.at === null) throw await refusal(db, sessionId, row);
  const { mcp_servers: mcpServers, has_waiting: hasWaiting, number, at } = row;
  const stored = { ...event!, turn_id: id, position: 1, created_at: at };
  return {
    id,
    sessionId,
    projectId,
    number,
    modelId: model_id ?? row.model_id,
    mcpServers,
    runningMs: 0,
    trace,
    event: stored,
    hasWaiting,
  };
}

/** What `preview` of the session shows: the first 120 characters of its first message (contract.md §9). */
function previewOf(content: string): string {
  return [...content.slice(0, 2 * PREVIEW_LENGTH)].slice(0, PREVIEW_LENGTH).join('');
}
