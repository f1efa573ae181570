import type { FileSnapshot } from '../events/fields.js';
import type { CustomTool } from '../db/entities/sessions.js';
import type { Turn } from '../db/entities/turns.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { AssistantBlock, ResultBlock } from '../models/content.js';
import { CONTEXT, withToolsets, type ContextRow, type TurnContext } from './context.js';
import { OPEN, type TurnState } from '../db/turn-states.js';
import { TurnEndedError } from '../turns/turn.js';

/** A turn in the form for the model. */
export interface PastTurn extends Pick<Turn, 'id' | 'number' | 'state' | 'queuedAt'> {
  /** Its message; null for a turn that continues the one before. */
  content: string | null;
  files: FileSnapshot[];
  /** Number of the turn that it continues. */
  continues: number | null;
  /** The messages that it got while it ran, in order. */
  steering: SteeringMessage[];
  steps: PastStep[];
  /** The streamed part of a message that a cancel request or a failure cut off. */
  cutOff: string | null;
}

export interface SteeringMessage {
  id: string;
  content: string;
  files: FileSnapshot[];
  /** Number of the model call that sees it first; null while it waits for the next one. */
  step: number | null;
  /** When it was delivered, or sent if it waits. */
  at: string;
}

export interface PastStep {
  step: number;
  /** The model that answered. */
  modelId: string;
  content: AssistantBlock[];
  stopReason: string;
  /** In the order of the step's tool uses. */
  calls: PastCall[];
}

export interface PastCall {
  index: number;
  toolUseId: string;
  name: string;
  /** Null while there is no result. */
  content: ResultBlock[] | null;
  /** It may have reached its server, or the client that runs it. */
  wasSent: boolean;
  isError: boolean;
  /** Key of the object with the full text, if `content` is shortened. */
  overflowKey: string | null;
}

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
}

type Row = PastTurn & {
  /** Only for the current turn. */
  context: (Omit<ContextRow, 'queuedAt'> & Pick<RequestContext, 'customTools'>) | null;
  summary: string | null;
  summarised_state: TurnState | null;
};

const STEPS = `(
  SELECT json_agg(json_build_object('step', step, 'modelId', model_steps.model_id, 'content', content, 'stopReason', stop_reason, 'calls', coalesce((
    SELECT json_agg(json_build_object('index', tool_calls.index, 'toolUseId', tool_calls.tool_use_id, 'name', name,
      'content', coalesce(content, (
        SELECT json_build_array(json_build_object('type', 'text', 'text', data->'content')) FROM events
        WHERE required_actions.state = 'answered' AND events.session_id = past.session_id
          AND turn_number = past.number AND position = answer_position)), 'wasSent', tool_calls.state IN ('started', 'task') OR coalesce(kind = 'custom_tool_result', false),
      'isError', coalesce(is_error, false), 'overflowKey', overflow_key) ORDER BY tool_calls.index)
    FROM tool_calls LEFT JOIN required_actions USING (turn_id, step, index) WHERE tool_calls.turn_id = past.id AND tool_calls.step = model_steps.step), '[]')) ORDER BY step)
  FROM model_steps WHERE model_steps.turn_id = past.id)`;

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

/** Loads a turn and its session's conversation, from the latest summary up to this turn. */
export async function loadConversation(db: Db, turnId: string): Promise<RequestContext> {
  const rows = await runSql<Row>(
    db,
    sql`WITH current AS (
          SELECT model_tools AS "customTools", ${CONTEXT} WHERE turns.id = ${turnId}),
        latest AS (
          SELECT turn_number, summary, turns.state AS summarised_state
          FROM current, compactions JOIN turns ON turns.session_id = compactions.session_id AND turns.number = turn_number
          WHERE compactions.session_id = current."sessionId" AND turn_number < current.number
          ORDER BY turn_number DESC LIMIT 1)
        SELECT past.id, past.number, past.state, message.data->>'content' AS content,
          coalesce(message.data->'files', '[]') AS files, past.queued_at AS "queuedAt",
          (SELECT number FROM turns WHERE turns.id = past.continues_turn_id) AS continues,
          coalesce(${rawSql(STEERING)}, '[]') AS steering,
          coalesce(${rawSql(STEPS)}, '[]') AS steps,
          CASE WHEN past.state IN ('cancelled', 'failed') THEN (
            SELECT data->>'content' FROM events
            WHERE session_id = past.session_id AND turn_number = past.number AND type = 'agent.message' AND data->>'incomplete' = 'true') END AS "cutOff",
          CASE WHEN past.id = ${turnId} THEN (SELECT row_to_json(current) FROM current) END AS context,
          summary, summarised_state
        FROM turns past JOIN events message ON message.session_id = past.session_id AND message.turn_number = past.number
            AND message.position = 1
          LEFT JOIN latest ON past.id = ${turnId}
        WHERE past.session_id = (SELECT "sessionId" FROM current)
          AND past.number > coalesce((SELECT turn_number FROM latest), 0)
          AND past.number <= (SELECT number FROM current)
        ORDER BY past.number`,
  );
  const current = rows.at(-1);
  if (current?.context == null) throw new TurnEndedError(turnId);
  const { customTools, ...context } = current.context;
  return {
    turn: await withToolsets(db, { ...context, queuedAt: current.queuedAt }),
    customTools,
    conversation: {
      summary: current.summary,
      summarisedState: current.summarised_state,
      turns: rows.map(({ id, number, state, content, files, queuedAt, continues, steering, steps, cutOff }) => ({
        ...{ id, number, state, content, files, queuedAt, continues, steering, steps, cutOff },
      })),
    },
  };
}
