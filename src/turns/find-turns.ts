import type { Db } from '../db/db.js';
import { readPage } from '../db/read-page.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { TurnState } from '../db/turn-states.js';
import type { SkillSnapshot, StopReason, Timing, TurnFailureType, Usage, UsageDetails } from '../events/fields.js';
import type { PageRows } from '../platform/page.js';
import { configurationOfTurn, MODEL_ID } from '../sessions/configured.js';
import { standsStill } from '../sessions/required-actions.js';

/** A turn with its outcome. What does not exist yet is null. */
export interface FoundTurn {
  id: string;
  session_id: string;
  number: number;
  state: TurnState;
  model_id: string;
  /** Null without an agent. */
  agent_id: string | null;
  agent_version: number | null;
  agent_skills: SkillSnapshot[] | null;
  continues_turn_id: string | null;
  sent_by_key: string | null;
  sent_by_actor: string | null;
  /** The turn that has a call on which this one works. */
  parent_turn_id: string | null;
  /** True while calls of the turn wait for an answer. */
  waits: boolean;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  stop_reason: StopReason | null;
  error: { type: TurnFailureType; message: string; retryable: boolean } | null;
  usage: Usage | null;
  usage_details: UsageDetails | null;
  timing: Timing | null;
  /** The content of the last `agent.message`. */
  message: string | null;
  /** Its message has an `output_schema`. */
  must_give_output: boolean;
  /** The value that the agent gave, as JSON text. */
  output: string | null;
}

/** The message of turn `t` has an `output_schema`: that of the turn that it continues, where it continues one. */
const MUST_GIVE_OUTPUT = `(
  SELECT message.data->'output_schema' IS NOT NULL FROM events message
  WHERE message.session_id = t.session_id AND message.turn_number = coalesce(t.message_number, t.number)
    AND message.position = 1)`;

/**
 * JSON of a row that an older build stored with escapes of NUL or of halves of surrogate pairs: Postgres cannot take it apart. U+FFFD stands
 * in their place, as in what is stored now (`storableJson`).
 */
const storable = (json: string): string => String.raw`CASE WHEN strpos(${json}::text, '\u') = 0 THEN ${json} ELSE
  regexp_replace(${json}::text, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1' || chr(65533), 'g')::json END`;

/** The rows of a turn `t` with a configuration `c` and overrides `o`; the outcome is read from the terminal event `e`, the last message from `m`. */
const ROWS = `
  t.id, t.session_id, t.number, t.state, coalesce(t.model_id, ${MODEL_ID}) AS model_id,
  t.agent_id, t.agent_version, t.agent_skills, t.continues_turn_id, t.sent_by_key, t.sent_by_actor,
  t.queued_at AS created_at, t.started_at, t.ended_at,
  t.state = 'running' AND ${standsStill('t.id')} AS waits, t.parent_turn_id,
  ${MUST_GIVE_OUTPUT} AS must_give_output,
  ${storable('e.data')} AS outcome, ${storable('m.data')} AS last_message, coalesce(m.page_bytes, 0) + coalesce(e.page_bytes, 0) AS page_bytes`;
const EVENTS = `
  LEFT JOIN events e ON t.ended_at IS NOT NULL
    AND e.session_id = t.session_id AND e.turn_number = t.number AND e.position = t.position
  LEFT JOIN LATERAL (
    SELECT data, page_bytes FROM events
    WHERE session_id = t.session_id AND type = 'agent.message' AND turn_number = t.number
    ORDER BY position DESC LIMIT 1) m ON true`;
const TURN_COLUMNS = `id, session_id, number, state, model_id, agent_id, agent_version, agent_skills, continues_turn_id, parent_turn_id,
  sent_by_key, sent_by_actor, waits, created_at, started_at, ended_at,
  outcome->>'stop_reason' AS stop_reason, outcome->'error' AS error, outcome->'usage' AS usage,
  outcome->'usage_details' AS usage_details, outcome->'timing' AS timing, last_message->>'content' AS message,
  must_give_output, outcome->>'output' AS output`;

/** A page of a session's turns, newest first: those with a number below `before`. */
export function listTurns(db: Db, sessionId: string, before: number, limit: number): Promise<PageRows<FoundTurn>> {
  return readPage(db, {
    query: `SELECT ${ROWS}
      FROM (SELECT * FROM turns WHERE session_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3) AS t
        ${configurationOfTurn('t')} ${EVENTS}
      ORDER BY t.number DESC`,
    values: [sessionId, before, limit + 1],
    order: 'number DESC',
    limit,
    large: { bytes: 'page_bytes', columns: TURN_COLUMNS },
  });
}

/** Finds a turn; `turn` is null if the session has no such turn, and the result if the project has no such session. */
export async function findTurnOfSession(
  db: Db,
  projectId: string,
  sessionId: string,
  turnId: string,
): Promise<{ turn: FoundTurn | null } | null> {
  const [row] = await runSql<FoundTurn | { id: null }>(
    db,
    sql`SELECT ${rawSql(TURN_COLUMNS)} FROM (
          SELECT ${rawSql(ROWS)}
          FROM sessions s LEFT JOIN turns t ON t.session_id = s.id AND t.id = ${turnId}
            LEFT JOIN configurations c ON c.id = t.configuration_id
            LEFT JOIN session_overrides o ON o.session_id = t.session_id AND o.number = t.overrides_number ${rawSql(EVENTS)}
          WHERE s.id = ${sessionId} AND s.project_id = ${projectId} AND s.deleted_at IS NULL) AS found`,
  );
  return row === undefined ? null : { turn: row.id === null ? null : row };
}
