import type { Db } from '../db/db.js';
import type { CustomTool } from '../db/entities/sessions.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { PastStep, PastTurn, SteeringMessage } from './past-turn.js';
import { joinKnown, type KnownConversation } from './conversation-cache.js';
import { CONTEXT, withToolsets, type ContextRow, type TurnContext } from './context.js';
import { OPEN, type TurnState } from '../db/turn-states.js';
import { parseExact } from '../platform/exact-json.js';
import type { JsonObject } from '../platform/json-object.js';
import { BYTES_PER_JSON_VALUE, countJsonValues } from '../platform/value-count.js';
import { TurnEndedError } from '../turns/errors.js';

/** The model's view of a session: the summary of earlier turns, then the other turns in order, the current one last. */
export interface Conversation {
  summary: string | null;
  /** Outcome of the last summarised turn. */
  summarisedState: TurnState | null;
  turns: PastTurn[];
}

/** What the next request of a turn to the model is built from. */
export interface RequestContext {
  turn: TurnContext;
  conversation: Conversation;
  /** The session's custom tools, with schemas that a model's API accepts. */
  customTools: CustomTool[];
  /** JSON Schema of the value that the turn must end with; null without one. */
  outputSchema: JsonObject | null;
  /** Estimated memory of the conversation. */
  bytes: number;
}

type Row = Omit<PastTurn, 'steering' | 'steps'> & {
  steering: string;
  steps: string;
  /** Only for the current turn. */
  context: (Omit<ContextRow, 'queuedAt'> & Pick<RequestContext, 'customTools' | 'outputSchema'>) | null;
  summary: string | null;
  summarised_state: TurnState | null;
  /** Number of the last summarised turn. */
  summarised: number | null;
  /** Only for the current turn: what is known was left out. */
  is_continued: boolean | null;
};

/** Characters of a changed input that the model is told, at most 2 KiB of it. */
const MAX_SHOWN_INPUT = 2048;

/** The steps of a turn, without those that are known. */
const STEPS = `(
  SELECT json_agg(json_build_object('step', step, 'modelId', model_steps.model_id, 'content', content, 'stopReason', stop_reason, 'calls', coalesce((
    SELECT json_agg(json_build_object('index', tool_calls.index, 'toolUseId', tool_calls.tool_use_id, 'name', name,
      'content', coalesce(content, (
        SELECT json_build_array(json_build_object('type', 'text', 'text', data->'content')) FROM events
        WHERE client.outcome = 'answered' AND events.session_id = past.session_id
          AND turn_number = past.number AND position = answer_position)), 'wasSent', tool_calls.state IN ('started', 'task') OR client.id IS NOT NULL,
      'isError', coalesce(is_error, false), 'overflowKey', overflow_key, 'changedInput', left(changed_input::text, ${MAX_SHOWN_INPUT + 1})) ORDER BY tool_calls.index)
    FROM tool_calls LEFT JOIN waits client ON client.turn_id = tool_calls.turn_id AND client.step = tool_calls.step
      AND client.index = tool_calls.index AND client.kind = 'custom_tool_result'
    WHERE tool_calls.turn_id = past.id AND tool_calls.step = model_steps.step), '[]')) ORDER BY step)
  FROM model_steps WHERE model_steps.turn_id = past.id
    AND step > coalesce((SELECT last_step FROM known WHERE known.id = past.id), 0))`;

/** Those that were delivered to a turn, then those that wait for its next model call. */
const STEERING = `(
  SELECT json_agg(m ORDER BY waits, place) FROM (
    SELECT id, data->>'content' AS content, data->'files' AS files, (data->>'delivered_at_step')::integer AS step,
      created_at AS at, false AS waits, position::bigint AS place
    FROM events WHERE session_id = past.session_id AND turn_number = past.number AND type = 'user.message' AND position > 1
    UNION ALL
    SELECT id, data->>'content', data->'files', NULL, created_at, true, arrival
    FROM waiting_messages w WHERE past.has_waiting AND w.session_id = past.session_id AND w.steers = past.number
      AND past.${OPEN}) AS m)`;

/**
 * Loads a turn and its session's conversation, from the latest summary up to this turn. Of what is known it reads only what
 * came since, if no other model call has begun since: that may have shortened steps.
 */
export async function loadConversation(
  db: Db,
  turnId: string,
  known: KnownConversation | null = null,
): Promise<RequestContext> {
  const last = known?.turns.at(-1);
  const rows = await runSql<Row>(
    db,
    sql`WITH current AS (
          SELECT c.model_tools AS "customTools", message.data->'output_schema' AS "outputSchema", ${CONTEXT} WHERE turns.id = ${turnId}),
        latest AS (
          SELECT turn_number, summary, turns.state AS summarised_state
          FROM current, compactions JOIN turns ON turns.session_id = compactions.session_id AND turns.number = turn_number
          WHERE compactions.session_id = current."sessionId" AND turn_number < current.number
          ORDER BY turn_number DESC LIMIT 1),
        known AS (
          SELECT k.id, k.number, ${last?.steps.at(-1)?.step ?? 0}::integer AS last_step FROM current JOIN turns k ON k.session_id = current."sessionId" AND k.number <= current.number
          WHERE k.id = ${last?.id ?? null}::text AND ${known?.messageId ?? null}::text = (
            SELECT message_id FROM model_calls a WHERE a.turn_id = k.id ORDER BY a.position DESC, a.call DESC LIMIT 1))
        SELECT past.id, past.number, past.state, message.data->>'content' AS content,
          coalesce(message.data->'files', '[]') AS files, past.queued_at AS "queuedAt",
          (SELECT number FROM turns WHERE turns.id = past.continues_turn_id) AS continues,
          coalesce(${rawSql(STEERING)}, '[]')::text AS steering,
          coalesce(${rawSql(STEPS)}, '[]')::text AS steps,
          CASE WHEN past.state IN ('cancelled', 'failed') THEN (
            SELECT data->>'content' FROM events
            WHERE session_id = past.session_id AND turn_number = past.number AND type = 'agent.message' AND data->>'incomplete' = 'true') END AS "cutOff",
          CASE WHEN past.id = ${turnId} THEN (SELECT row_to_json(current) FROM current) END AS context,
          summary, summarised_state, latest.turn_number AS summarised,
          CASE WHEN past.id = ${turnId} THEN EXISTS (SELECT FROM known) END AS is_continued
        FROM turns past CROSS JOIN LATERAL (
          SELECT data FROM events WHERE events.session_id = past.session_id AND turn_number = past.number AND position = 1
          OFFSET 0) AS message
          LEFT JOIN latest ON past.id = ${turnId}
        WHERE past.session_id = (SELECT "sessionId" FROM current)
          AND past.number > coalesce((SELECT turn_number FROM latest), 0)
          AND past.number >= coalesce((SELECT number FROM known), 0)
          AND past.number <= (SELECT number FROM current)
        ORDER BY past.number`,
  );
  const current = rows.at(-1);
  if (current?.context == null) throw new TurnEndedError(turnId);
  const { customTools, outputSchema, ...context } = current.context;
  const read = rows.map(turnOf);
  const before = current.is_continued === true ? known : null;
  return {
    turn: await withToolsets(db, { ...context, queuedAt: current.queuedAt }),
    customTools,
    outputSchema,
    conversation: {
      summary: current.summary,
      summarisedState: current.summarised_state,
      turns: before === null ? read : joinKnown(before.turns, read, current.summarised ?? 0),
    },
    bytes: rows.reduce((sum, row, index) => {
      const isKnown = index === 0 && before?.turns.some(({ id }) => id === row.id) === true;
      return sum + (isKnown ? 0 : bytesOfMessages(row)) + bytesOf(row.steps, read[index]!.steps);
    }, before?.bytes ?? 0),
  };
}

function turnOf({ id, number, state, content, files, queuedAt, continues, steering, steps, cutOff }: Row): PastTurn {
  return {
    ...{ id, number, state, content, files, queuedAt, continues, cutOff },
    steering: JSON.parse(steering) as SteeringMessage[],
    steps: parseExact(steps) as PastStep[],
  };
}

function bytesOf(json: string, parsed: unknown): number {
  return json.length + BYTES_PER_JSON_VALUE * countJsonValues(parsed);
}

function bytesOfMessages({ content, steering, files, cutOff }: Row): number {
  return (content?.length ?? 0) + bytesOf(steering, files) + (cutOff?.length ?? 0);
}
