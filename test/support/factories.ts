import type { Database } from '../../src/db/db.js';
import { newId } from '../../src/platform/ids.js';
import { seal } from '../../src/platform/sealed.js';
import { newSecret } from '../../src/webhooks/sign.js';

/** Adds sessions without a turn, past the API. Returns their ids. */
export async function insertSessions(db: Database, projectId: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('session'));
  await db.query(
    `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata)
     SELECT unnest($1::text[]), $2, 'scripted', false, '{}', '{}'`,
    [ids, projectId],
  );
  await db.query(
    `INSERT INTO session_states (session_id, project_id, state, created_at, active_at, row_bytes)
     SELECT id, project_id, 'idle', created_at, created_at, 1500 FROM sessions WHERE id = ANY($1)`,
    [ids],
  );
  return ids;
}

/** Makes a turn in this state the session's latest, without any workflow or reconciler. Returns its id. */
export async function insertTurn(db: Database, sessionId: string, state: string): Promise<string> {
  const id = `turn_${state}_${sessionId}`;
  await db.query(
    `INSERT INTO turns (id, session_id, project_id, number, state)
     SELECT $1, id, project_id, turn_count + 1, $2 FROM sessions WHERE id = $3`,
    [id, state, sessionId],
  );
  await db.query(
    `INSERT INTO open_turns (turn_id, session_id, project_id, namespace)
     SELECT id, session_id, project_id, 'none' FROM turns WHERE id = $1 AND state IN ('queued', 'running')`,
    [id],
  );
  await db.query(
    `UPDATE session_states SET state = $2, active_at = clock_timestamp() WHERE session_id = $1 AND $2 NOT IN ('queued', 'running')`,
    [sessionId, state],
  );
  await db.query('UPDATE sessions SET last_turn_id = $1, turn_count = turn_count + 1 WHERE id = $2', [id, sessionId]);
  return id;
}

/** Ends `count` turns of a session, each with a message, `results` tool results, an answer and its end. Past the API. */
export async function insertEndedTurns(
  db: Database,
  sessionId: string,
  { count, results }: { count: number; results: number },
): Promise<void> {
  await db.query(
    `INSERT INTO turns (id, session_id, project_id, number, state, position, started_at, ended_at)
     SELECT 'turn_' || n || id, id, project_id, n, 'completed', $3 + 3, now(), now()
     FROM sessions, generate_series(1, $2::integer) AS n WHERE id = $1`,
    [sessionId, count, results],
  );
  await db.query(
    `INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
     SELECT 'evt_' || number || '_' || n || session_id, session_id, id, number, n, type, data, ended_at
     FROM turns, generate_series(1, position) AS n, LATERAL (SELECT
       CASE n WHEN 1 THEN 'user.message' WHEN position - 1 THEN 'agent.message' WHEN position THEN 'turn.completed'
         ELSE 'agent.tool_result' END AS type,
       CASE n WHEN 1 THEN '{"content": "Hello", "files": [], "skills": []}'::json
         WHEN position - 1 THEN json_build_object('message_id', 'msg_1', 'content', 'Answer ' || number)
         WHEN position THEN '{"stop_reason": "end_turn", "usage": null, "usage_details": null, "timing":
           {"queued_ms": 1, "connect_ms": null, "first_token_ms": 1, "model_ms": 1, "tools_ms": 1, "waiting_ms": null,
            "total_ms": 1}}'::json
         ELSE '{"tool_use_id": "toolu_1", "name": "list_files", "is_error": false, "content": "None."}'::json END AS data) AS made
     WHERE session_id = $1`,
    [sessionId],
  );
  await db.query('UPDATE sessions SET turn_count = $2, last_turn_id = $3 WHERE id = $1', [
    sessionId,
    count,
    `turn_${count}${sessionId}`,
  ]);
}

/** Registers an MCP server of this id, without a probe. */
export async function insertMcpServer(db: Database, id: string, project = 'demo'): Promise<void> {
  await db.query(
    `INSERT INTO mcp_servers (id, project_id, name, url, auth_type, tools)
     SELECT $1::text, id, replace($1::text, '_', '-'), 'https://' || $1, 'NONE', '[]' FROM projects WHERE name = $2`,
    [id, project],
  );
}

/** Gives a user a credential for a server; returns its id. */
export async function insertCredential(db: Database, serverId: string): Promise<string> {
  await db.query(
    `INSERT INTO user_credentials (id, project_id, mcp_server_id, end_user, auth_type)
     SELECT 'cred_one', project_id, id, 'ann', 'OAUTH' FROM mcp_servers WHERE id = $1`,
    [serverId],
  );
  return 'cred_one';
}

/** Pins the tools of a server, and gives it a new one that is held back. Returns the name of the tool. */
export async function insertChangedTool(db: Database, serverId: string): Promise<string> {
  const shown = { description: '', input_schema: { type: 'object' } };
  await db.query(
    `WITH accepted AS (INSERT INTO mcp_toolsets (server_id, hash, tools) VALUES ($1, 'accepted', '[]'))
     UPDATE mcp_servers SET pin_tools = true, accepted_hash = 'accepted', tools = $2, changed_tools = $3 WHERE id = $1`,
    [
      serverId,
      JSON.stringify([{ name: 'new', ...shown }]),
      JSON.stringify([{ name: 'new', digest: 'digest', before: null, after: shown }]),
    ],
  );
  return 'new';
}

/** Makes a running turn the session's latest, with one call that waits for an answer. Returns the turn's id. */
export async function insertWaitingTurn(
  db: Database,
  sessionId: string,
  { kind = 'tool_confirmation', toolUseId = 'toolu_1', name = 'mcp__mail__send', input = {} } = {},
): Promise<string> {
  const turnId = await insertTurn(db, sessionId, 'running');
  await db.query(
    `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input) VALUES ($1, 1, 0, $2, $3, $4)`,
    [turnId, toolUseId, name, JSON.stringify(input)],
  );
  await insertWait(db, { turnId, sessionId, kind, toolUseId });
  return turnId;
}

interface InsertedWait {
  turnId: string;
  sessionId: string;
  index?: number;
  kind?: string;
  toolUseId?: string;
  /** `planned`, `open`, or how it ended. */
  state?: string;
  ask?: object;
  /** SQL for when it was asked, and for how long. */
  askedAt?: string;
  lasts?: string;
}

/** Stores a wait of a call of the first step. */
export async function insertWait(
  db: Database,
  {
    turnId,
    sessionId,
    index = 0,
    kind = 'tool_confirmation',
    toolUseId = 'toolu_1',
    state = 'open',
    ask = {},
    askedAt = 'clock_timestamp()',
    lasts = '1 day',
  }: InsertedWait,
): Promise<void> {
  const outcome = state === 'planned' || state === 'open' ? null : state;
  await db.query(
    `INSERT INTO waits (turn_id, step, id, session_id, index, tool_use_id, kind, ask, during_call, state, outcome, asked_at,
       expires_at, closed_at)
     SELECT $1, 1, $2, $3, $4, $5, $6, $7, $6 = 'elicitation', $8, $9::text, CASE WHEN $8 <> 'planned' THEN ${askedAt} END,
       CASE WHEN $8 <> 'planned' THEN ${askedAt} + $10::interval END, CASE WHEN $9::text IS NOT NULL THEN clock_timestamp() END`,
    [
      ...[turnId, kind === 'elicitation' ? newId('elicitation') : newId('wait'), sessionId, index, toolUseId, kind],
      ...[JSON.stringify(ask), outcome === null ? state : 'closed', outcome, lasts],
    ],
  );
}

/** Stores an enabled webhook with one delivered delivery. Returns their ids by the names of their path parameters. */
export async function insertWebhook(
  db: Database,
  project = 'demo',
): Promise<{ webhook_id: string; delivery_id: string }> {
  const ids = { webhook_id: 'whk_one', delivery_id: 'dlv_one' };
  const sealed = seal([Buffer.alloc(32, 7)], 'webhooks.secret', ids.webhook_id, newSecret());
  await db.query(
    `INSERT INTO webhooks (id, project_id, url, event_types, enabled, secret)
     SELECT $1, id, 'https://hooks.invalid/', '{turn.completed}', true, $2 FROM projects WHERE name = $3`,
    [ids.webhook_id, sealed, project],
  );
  await db.query(
    `INSERT INTO webhook_deliveries (id, webhook_id, project_id, event_type, state, wake_at, created_at)
     SELECT $1, id, project_id, 'webhook.test', 'delivered', now(), now() FROM webhooks`,
    [ids.delivery_id],
  );
  return ids;
}

/** Adds a schedule of project `demo` that Temporal does not have. Returns its id. */
export async function insertSchedule(db: Database): Promise<string> {
  const id = newId('schedule');
  const target = {
    type: 'new_session',
    session: {
      model_id: 'test-model',
      thinking_enabled: true,
      instruction: null,
      mcp_servers: [],
      metadata: {},
      tools: [],
      fallback_model_ids: [],
      budget: null,
    },
  };
  await db.query(
    `INSERT INTO schedules (id, project_id, cron, timezone, target, message, overlap, next_run_at)
     SELECT $1, id, '0 0 1 1 *', 'UTC', $2, $3, 'skip', now() + interval '1 day' FROM projects WHERE name = 'demo'`,
    [id, JSON.stringify(target), JSON.stringify({ content: 'Report.', files: [], skills: [] })],
  );
  return id;
}
