import type { Db } from '../../src/db/db.js';
import { rawSql, runSql, sql } from '../../src/db/sql.js';
import { configurationOfTurn, MODEL_ID } from '../../src/sessions/configured.js';
import { parseExact } from '../../src/platform/exact-json.js';
import { readTimeline, type TimelineEntry } from '../../src/turns/timeline.js';
import { AGENT_TOOL_PREFIX, BUILT_IN_TOOL_NAMES, MCP_TOOL_PREFIX } from '../../src/sessions/tools.js';

type Json = Record<string, unknown>;

/** More than a turn of a hundred steps can have. */
const MAX_PARTS = 10_000;

export interface ModelCallRow {
  step: number;
  message_id: string;
  worker_id: string;
  started_at: string;
  ended_at: string | null;
  error: { type: string; message: string; status?: number } | null;
}

/** What keeps a turn from going on: an answer, a larger budget, or the task of a server. */
export interface WaitRow {
  what: string;
  step: number;
  /** Null for the model call of the step. */
  index: number | null;
  since: string;
  expires_at: string | null;
}

/** The messages of the session that wait, for the next model call of this turn or for turns after it. */
export interface WaitingRow {
  state: 'steering' | 'queued';
  count: number;
  oldest_at: string;
}

export interface ToolCallRow {
  step: number;
  index: number;
  tool_use_id: string;
  /** Null for a tool that the turn does not offer: the model made it up, so it may be content. */
  name: string | null;
  state: string;
  /** State of the answer that the call needs; null if it needs none. */
  action: string | null;
  is_error: boolean | null;
  worker_id: string | null;
  started_at: string | null;
  ended_at: string | null;
  input: Json;
}

/** A task of a call, as its server reported it last. */
export interface TaskRow {
  step: number;
  index: number;
  server_id: string;
  task_id: string;
  status: string;
  poll_ms: number;
  created_at: string;
  ended_at: string | null;
  cancelled_at: string | null;
  message: string | null;
}

/** A turn of another agent that a call has begun. */
export interface ChildRow {
  step: number;
  index: number;
  agent_id: string;
  agent_version: number;
  session_id: string;
  turn_id: string;
  state: string;
  created_at: string;
  ended_at: string | null;
}

export interface QuestionRow {
  step: number;
  index: number;
  id: string;
  mode: string;
  state: string;
  asked_at: string;
  expires_at: string;
  delivered_at: string | null;
  message: string;
  url: string | null;
}

export interface EventRow {
  position: number;
  type: string;
  created_at: string;
  data: Json;
}

export interface WorkerRow {
  id: string;
  until: string;
  is_draining: boolean;
  dead_at: string | null;
}

export interface ShownTurn {
  row: Json;
  /** Of the terminal event of a failed turn. */
  error: { type: string; message: string } | null;
  /** Oldest first; without names that the model made up. */
  timeline: TimelineEntry[];
  times: { queued_at: string; ended_at: string | null };
  waits: WaitRow[];
  waitingMessages: WaitingRow[];
  modelCalls: ModelCallRow[];
  toolCalls: ToolCallRow[];
  tasks: TaskRow[];
  questions: QuestionRow[];
  children: ChildRow[];
  events: EventRow[];
  /** Workers that have a model call or a tool call of the turn under way. */
  workers: WorkerRow[];
}

export async function readTurn(db: Db, id: string): Promise<ShownTurn | null> {
  const [row] = await runSql<Json>(
    db,
    sql`SELECT t.id, t.session_id, t.project_id, p.name AS project, ${rawSql(MODEL_ID)} AS model_id, t.number, t.state, t.position,
          t.queued_at, t.started_at, t.ended_at, t.cancel_requested_at, t.progress_at, t.model_calls, t.parent_turn_id,
          (SELECT sum((usage->>'input_tokens')::bigint) FROM model_calls WHERE turn_id = t.id) AS input_tokens,
          (SELECT sum((usage->>'output_tokens')::bigint) FROM model_calls WHERE turn_id = t.id) AS output_tokens,
          open.namespace, open.checked_at
        FROM turns t ${rawSql(configurationOfTurn('t'))} JOIN projects p ON p.id = t.project_id
          LEFT JOIN open_turns open ON open.turn_id = t.id
        WHERE t.id = ${id}`,
  );
  if (row === undefined) return null;
  const waits = await runSql<WaitRow>(
    db,
    sql`SELECT kind AS what, step, index, asked_at AS since, expires_at FROM waits
        WHERE turn_id = ${id} AND state = 'open'
        UNION ALL SELECT 'task', step, index, created_at, NULL FROM mcp_tasks
        WHERE turn_id = ${id} AND ended_at IS NULL AND cancelled_at IS NULL ORDER BY 2, 3, 4`,
  );
  const waitingMessages = await runSql<WaitingRow>(
    db,
    sql`SELECT CASE WHEN w.steers = t.number AND o.turn_id IS NOT NULL THEN 'steering' ELSE 'queued' END AS state,
          count(*)::integer AS count, min(w.created_at) AS oldest_at
        FROM turns t JOIN waiting_messages w ON w.session_id = t.session_id LEFT JOIN open_turns o ON o.turn_id = t.id
        WHERE t.id = ${id} GROUP BY 1 ORDER BY 1 DESC`,
  );
  const modelCalls = await runSql<ModelCallRow>(
    db,
    sql`SELECT step, message_id, worker_id, started_at, ended_at, error FROM model_calls
        WHERE turn_id = ${id} ORDER BY position, call`,
  );
  const calls = await runSql<Omit<ToolCallRow, 'input'> & { input: string }>(
    db,
    sql`SELECT c.step, c.index, c.tool_use_id, c.state,
          CASE WHEN c.name = ANY(${BUILT_IN_TOOL_NAMES}::text[])
            OR EXISTS (SELECT FROM json_array_elements(configurations.tools) AS tool WHERE tool->>'name' = c.name)
            OR EXISTS (SELECT FROM turn_agents a WHERE a.turn_id = c.turn_id AND c.name = ${AGENT_TOOL_PREFIX} || a.name)
            OR EXISTS (
              SELECT FROM turn_servers v WHERE v.turn_id = c.turn_id AND starts_with(c.name, ${MCP_TOOL_PREFIX} || v.name || '__'))
          THEN c.name END AS name, a.action, c.is_error, c.worker_id,
          c.started_at, c.ended_at, c.input::text AS input
        FROM tool_calls c JOIN turns t ON t.id = c.turn_id JOIN configurations ON configurations.id = t.configuration_id
          LEFT JOIN LATERAL (
            SELECT coalesce(outcome, w.state) AS action FROM waits w
            WHERE (w.turn_id, w.step, w.index) = (c.turn_id, c.step, c.index) AND NOT during_call
            ORDER BY asked_at DESC NULLS FIRST, w.id DESC LIMIT 1) AS a ON true
        WHERE c.turn_id = ${id} ORDER BY c.step, c.index`,
  );
  const tasks = await runSql<TaskRow>(
    db,
    sql`SELECT step, index, server_id, task_id, status, poll_ms, created_at, ended_at, cancelled_at, message
        FROM mcp_tasks WHERE turn_id = ${id} ORDER BY step, index`,
  );
  const children = await runSql<ChildRow>(
    db,
    sql`SELECT step, index, d.agent_id, d.agent_version, child_session_id AS session_id, child_turn_id AS turn_id, child.state,
          d.created_at, child.ended_at
        FROM delegations d JOIN turns child ON child.id = d.child_turn_id WHERE d.turn_id = ${id} ORDER BY step, index`,
  );
  const questions = await runSql<QuestionRow>(
    db,
    sql`SELECT step, index, id, ask->>'mode' AS mode, coalesce(outcome, state) AS state, asked_at, expires_at,
          taken_at AS delivered_at, ask->>'message' AS message, ask->>'url' AS url
        FROM waits WHERE turn_id = ${id} AND kind = 'elicitation' ORDER BY id`,
  );
  const stored = await runSql<Omit<EventRow, 'data'> & { data: string }>(
    db,
    sql`SELECT e.position, e.type, e.created_at, e.data::text AS data FROM turns t
          JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number
        WHERE t.id = ${id} ORDER BY e.position`,
  );
  const events = stored.map((event): EventRow => ({ ...event, data: parseExact(event.data) as Json }));
  const { error = null } = (events.at(-1)?.data ?? {}) as Pick<Partial<ShownTurn>, 'error'>;
  const workers = await runSql<WorkerRow>(
    db,
    sql`SELECT id, until, is_draining, dead_at FROM workers WHERE id IN (
          SELECT worker_id FROM model_calls WHERE turn_id = ${id} AND ended_at IS NULL
          UNION SELECT worker_id FROM tool_calls WHERE turn_id = ${id} AND state = 'started')`,
  );
  const toolCalls = calls.map((call): ToolCallRow => ({ ...call, input: parseExact(call.input) as Json }));
  const names = new Map(toolCalls.map(({ tool_use_id, name }) => [tool_use_id, name]));
  const { rows } = await readTimeline(db, id, { limit: MAX_PARTS, after: null });
  const timeline = rows.map((part) => ({ ...part, name: part.tool_use_id && (names.get(part.tool_use_id) ?? null) }));
  const times = { queued_at: row.queued_at as string, ended_at: row.ended_at as string | null };
  return {
    row,
    error,
    timeline,
    times,
    waits,
    waitingMessages,
    modelCalls,
    toolCalls,
    tasks,
    questions,
    children,
    events,
    workers,
  };
}
