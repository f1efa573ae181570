import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { FileSnapshot, SkillSnapshot } from '../events/fields.js';
import type { StartableTurn } from '../temporal/turn-workflows.js';
import { insertEvents, newEvents, type EventRow } from '../events/store.js';
import { loadRequiredActions, sessionRunning } from '../sessions/required-actions.js';
import { isOpen, OPEN_STATES, type TurnState } from '../db/turn-states.js';

/** The fields of `user.message`. */
interface Message {
  content: string;
  files: FileSnapshot[];
  skills: SkillSnapshot[];
  /** The schedule that sent the message. */
  schedule_id?: string;
}

/** A turn just queued, with its `user.message`. */
export interface QueuedTurn extends Omit<StartableTurn, 'mayWait'> {
  event: EventRow;
}

const PREVIEW_LENGTH = 120;

interface Row {
  model_id: string;
  mcp_servers: number;
  last_state: TurnState | null;
  max_running_turns: number;
  /** Null when the turn was refused. */
  at: string | null;
}

/**
 * Stores a message as a queued turn with its `user.message`, in one statement: locks the session's row, decides 404, 409
 * and 429. From here on the turn always reaches a terminal event, even if this process dies.
 *
 * The limit of the project's turns is checked without a lock where more room is left than Postgres has connections; else
 * the messages of the project wait for each other (`lock_session_for_turn`).
 * @param namespace the Temporal namespace that runs the turn
 * @throws ServiceError session_not_found, session_running, too_many_running_turns
 */
export async function queueTurn(
  db: Db,
  projectId: string,
  sessionId: string,
  { content, files, skills, schedule_id }: Message,
  namespace: string,
): Promise<QueuedTurn> {
  const id = newId('turn');
  const trace = traceparent();
  const [event] = newEvents([
    { type: 'user.message', data: { content, files, skills, ...(schedule_id !== undefined && { schedule_id }) } },
  ]);
  const [row] = await runSql<Row>(
    db,
    sql`WITH session AS MATERIALIZED (
          SELECT model_id, mcp_servers, turn_count, last_state, open_turns, max_running_turns
          FROM lock_session_for_turn(${projectId}, ${sessionId})),
        now AS MATERIALIZED (
          SELECT turn_count + 1 AS number, clock_timestamp() AS at FROM session
          WHERE open_turns < max_running_turns AND (last_state IS NULL OR last_state <> ALL(${OPEN_STATES}::text[]))),
        written AS (
          INSERT INTO turns (id, session_id, project_id, number, state, position, trace, queued_at, transition_at, progress_at)
          SELECT ${id}, ${sessionId}, ${projectId}, number, 'queued', 1, ${trace}, at, at, at FROM now
          RETURNING id, session_id, project_id, number, position, queued_at AS at),
        opened AS (
          INSERT INTO open_turns (turn_id, session_id, project_id, namespace)
          SELECT id, session_id, project_id, ${namespace} FROM written),
        counted AS (
          UPDATE sessions SET turn_count = written.number, last_turn_id = written.id,
            preview = CASE WHEN written.number = 1 THEN ${previewOf(content)}::text ELSE preview END
          FROM written WHERE sessions.id = written.session_id),
        ${insertEvents(sql`written`, [event!])}
        SELECT model_id, mcp_servers, last_state, max_running_turns, written.at
        FROM session LEFT JOIN written ON true`,
  );
  if (row === undefined) throw new ServiceError('session_not_found', `There is no session ${sessionId}.`);
  if (row.at === null) throw await refusal(db, sessionId, row);
  const { model_id: modelId, mcp_servers: mcpServers, at } = row;
  const stored = { ...event!, turn_id: id, position: 1, created_at: at };
  return { id, sessionId, projectId, modelId, mcpServers, runningMs: 0, trace, event: stored };
}

/** What `preview` of the session shows: the first 120 characters of its first message (contract.md §9). */
function previewOf(content: string): string {
  return [...content.slice(0, 2 * PREVIEW_LENGTH)].slice(0, PREVIEW_LENGTH).join('');
}

async function refusal(
  db: Db,
  sessionId: string,
  { last_state, max_running_turns: limit }: Row,
): Promise<ServiceError> {
  if (last_state !== null && isOpen(last_state)) return sessionRunning(await loadRequiredActions(db, sessionId));
  return new ServiceError(
    'too_many_running_turns',
    `The project has ${limit} queued or running turns, its limit. Send the message again after any of them ends.`,
    { max_running_turns: limit },
  );
}
