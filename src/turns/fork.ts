import type { EntityManager } from 'typeorm';
import type { SessionTool } from '../db/entities/sessions.js';
import { isOpen, type TurnState } from '../db/turn-states.js';
import { runSql, sql } from '../db/sql.js';
import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { loadRequiredActions, sessionRunning } from '../sessions/required-actions.js';
import { insertSessionState } from '../sessions/store.js';
import { hasWorkspace } from '../sessions/tools.js';
import { sessionGone } from './open.js';

/** Stored events that one fork may copy: they are one transaction. */
export const MAX_FORKED_EVENTS = 20_000;

/** Which turns are copied: those before a turn, those up to an ended one, or, without either, all that ended. */
export interface ForkPoint {
  beforeTurnId?: string | undefined;
  afterTurnId?: string | undefined;
}

/** What the fork has instead of the values of the session. */
export interface ForkFields {
  /** `currency`: that of the model's price; null without a price. */
  model?: { id: string; currency: string | null } | undefined;
  metadata?: Record<string, string> | undefined;
}

interface CopiedTurn {
  id: string;
  number: number;
  state: TurnState;
  /** Number of its stored events. */
  position: number;
  ended_at: string;
}

/**
 * Copies a session and its turns under new ids, and returns the id of the copy. An ended turn never changes, so the session is
 * not locked. What the copied model calls cost stays with the session: the turns of a copy cost nothing.
 * @throws ServiceError `session_not_found`, `turn_not_found`, `session_running`, `fork_too_large`
 */
export async function forkSession(
  tx: EntityManager,
  session: { id: string; project_id: string },
  point: ForkPoint,
  fields: ForkFields,
): Promise<string> {
  const turns = await turnsToCopy(tx, session.id, point);
  const to = newId('session');
  const newIds = turns.map(() => newId('turn'));
  const tools = await copySession(tx, session, to, fields, { turns, newIds });
  if (turns.length > 0) await copyTurns(tx, session.id, to, turns, newIds);
  const isCopied = await copyWorkspace(tx, session.id, to, turns.at(-1)?.number ?? 0);
  // It was deleted meanwhile.
  if (!isCopied && hasWorkspace(tools)) sessionGone(session.id);
  return to;
}

async function turnsToCopy(tx: EntityManager, sessionId: string, point: ForkPoint): Promise<CopiedTurn[]> {
  const last = await lastTurnToCopy(tx, sessionId, point);
  const turns = await runSql<CopiedTurn>(
    tx,
    sql`SELECT id, number, state, position, ended_at FROM turns
        WHERE session_id = ${sessionId} AND number <= ${last} AND ended_at IS NOT NULL
        ORDER BY number LIMIT ${MAX_FORKED_EVENTS + 1}`,
  );
  const events = turns.reduce((sum, { position }) => sum + position, 0);
  if (events <= MAX_FORKED_EVENTS) return turns;
  throw new ServiceError(
    'fork_too_large',
    `A fork copies at most ${MAX_FORKED_EVENTS} events. Fork before an earlier turn, or begin a new session.`,
    { max_events: MAX_FORKED_EVENTS },
  );
}

/** The number of the last turn to copy. Only the latest turn of a session can be open. */
async function lastTurnToCopy(
  tx: EntityManager,
  sessionId: string,
  { beforeTurnId, afterTurnId }: ForkPoint,
): Promise<number> {
  const turnId = beforeTurnId ?? afterTurnId;
  if (turnId === undefined) return 2 ** 31 - 1;
  const [turn] = await runSql<Pick<CopiedTurn, 'number' | 'state'>>(
    tx,
    sql`SELECT number, state FROM turns WHERE session_id = ${sessionId} AND id = ${turnId}`,
  );
  if (turn === undefined) throw new ServiceError('turn_not_found', `The session has no turn ${turnId}.`);
  if (beforeTurnId !== undefined) return turn.number - 1;
  if (isOpen(turn.state)) throw sessionRunning(await loadRequiredActions(tx, sessionId));
  return turn.number;
}

/**
 * Gives the fork the version of the session's workspace that stood at the end of a turn, or the oldest one that is kept if that is a
 * later one; false if the session has none. Objects never change, so both sessions name the same ones until one of them changes its
 * tree. Should the session change it before the fork is there, storage maintenance keeps the objects for much longer than that takes.
 */
async function copyWorkspace(tx: EntityManager, from: string, to: string, lastTurn: number): Promise<boolean> {
  const columns = sql`project_id, turn_number, version, objects, object_bytes, cwd, size_bytes, file_count, updated_at`;
  const copied = await runSql(
    tx,
    sql`INSERT INTO workspaces (session_id, project_id, turn_number, version, objects, object_bytes, cwd, size_bytes, file_count,
          updated_at, began)
        SELECT ${to}, project_id, ${lastTurn}, version, objects, object_bytes, cwd, size_bytes, file_count, updated_at,
          CASE WHEN turn_number <= ${lastTurn} THEN 'exact' ELSE 'later' END
        FROM (
          SELECT ${columns} FROM workspaces WHERE session_id = ${from}
          UNION ALL SELECT ${columns} FROM kept_workspaces WHERE session_id = ${from}) AS versions
        ORDER BY turn_number <= ${lastTurn} DESC, abs(turn_number - ${lastTurn}::integer) LIMIT 1
        RETURNING session_id`,
  );
  return copied.length > 0;
}

async function copySession(
  tx: EntityManager,
  session: { id: string; project_id: string },
  to: string,
  { model, metadata }: ForkFields,
  { turns, newIds }: { turns: CopiedTurn[]; newIds: string[] },
): Promise<SessionTool[]> {
  const last = turns.at(-1);
  const [row] = await runSql<{ tools: SessionTool[] }>(
    tx,
    sql`INSERT INTO sessions (id, project_id, model_id, thinking_enabled, instruction, mcp_servers, metadata, tools,
          model_tools, currency, fallback_model_ids, budget, end_user, turn_count, last_turn_id, preview,
          forked_from_session_id, forked_from_turn_id, created_at, metadata_updated_at)
        SELECT ${to}, project_id, coalesce(${model?.id}::text, model_id), thinking_enabled, instruction, mcp_servers,
          coalesce(${metadata && JSON.stringify(metadata)}::json, metadata), tools, model_tools,
          CASE WHEN ${model === undefined} THEN currency ELSE ${model?.currency}::text END, fallback_model_ids, budget,
          end_user, ${last?.number ?? 0}::integer, ${newIds.at(-1)}::text,
          CASE WHEN ${last !== undefined} THEN preview END, id, ${last?.id}::text, statement_timestamp(),
          statement_timestamp()
        FROM sessions WHERE id = ${session.id} AND project_id = ${session.project_id} AND deleted_at IS NULL
        RETURNING tools`,
  );
  if (row === undefined) sessionGone(session.id);
  await insertSessionState(tx, to, last?.state ?? 'idle');
  return row.tools;
}

/** The rows of turns, by table: the columns besides turn_id, all of them copied as they are. */
const ROWS_OF_TURNS = {
  turn_servers: 'server_id, index, name, toolset_hash, offered_tools, connected, as_user',
  model_attempts:
    'step, position, attempt, message_id, worker_id, started_at, ended_at, model_id, usage, cost, currency, error, first_token_ms',
  model_steps: 'step, message_id, model_id, content, stop_reason, created_at',
  tool_calls:
    'step, index, tool_use_id, name, input, state, content, is_error, overflow_key, worker_id, started_at, ended_at',
} as const;

/** As `ROWS_OF_TURNS`, for rows that also name their session. */
const ROWS_WITH_SESSION = {
  required_actions:
    'step, index, tool_use_id, kind, needed_cost, state, asked_at, expires_at, answer_position, answered_at, taken_at, closed_at',
  authorization_waits:
    'step, index, n, tool_use_id, mcp_server_id, end_user, state, asked_at, expires_at, answer_position, closed_at, taken_at',
} as const;

async function copyTurns(
  tx: EntityManager,
  from: string,
  to: string,
  turns: CopiedTurn[],
  newIds: string[],
): Promise<void> {
  const oldIds = turns.map(({ id }) => id);
  const last = turns.at(-1)!;
  await runSql(
    tx,
    sql`WITH copied AS (SELECT * FROM unnest(${oldIds}::text[], ${newIds}::text[]) AS copied (old, new))
        INSERT INTO turns (id, session_id, project_id, number, state, position, model_id, thinking_enabled,
          fallback_model_id, continues_turn_id, message_number, from_queue, end_reason, queued_at, started_at, ended_at,
          transition_at, cancel_requested_at, progress_at, connected_at, connect_ms, first_token_at, model_calls, currency,
          is_summed_up, copied_from)
        SELECT copied.new, fork.id, t.project_id, number, state, position, coalesce(t.model_id, s.model_id),
          t.thinking_enabled, t.fallback_model_id, continued.new, message_number, from_queue,
          end_reason, queued_at, started_at, ended_at, transition_at, cancel_requested_at, progress_at, connected_at,
          connect_ms, first_token_at, model_calls, fork.currency, is_summed_up, coalesce(copied_from, t.id)
        FROM copied JOIN turns t ON t.id = copied.old JOIN sessions s ON s.id = t.session_id
          JOIN sessions fork ON fork.id = ${to}
          LEFT JOIN copied continued ON continued.old = t.continues_turn_id`,
  );
  const copyRows = (table: string, columns: string, newColumns: string, ...newValues: string[]): Promise<unknown> =>
    tx.query(
      `INSERT INTO ${table} (${newColumns}, ${columns})
       SELECT copied.new${newValues.map((_, index) => `, $${index + 3}`).join('')}, ${columns.replaceAll(/\w+/g, 'r.$&')}
       FROM unnest($1::text[], $2::text[]) AS copied (old, new) JOIN ${table} r ON r.turn_id = copied.old`,
      [oldIds, newIds, ...newValues],
    );
  for (const [table, columns] of Object.entries(ROWS_OF_TURNS)) await copyRows(table, columns, 'turn_id');
  for (const [table, columns] of Object.entries(ROWS_WITH_SESSION))
    await copyRows(table, columns, 'turn_id, session_id', to);
  await copyEvents(tx, from, to, turns, newIds);
  // Those that the copied turns made: a later turn's summary is not yet there.
  await runSql(
    tx,
    sql`INSERT INTO compactions (session_id, turn_number, summary, created_at)
        SELECT ${to}, turn_number, summary, created_at FROM compactions
        WHERE session_id = ${from} AND turn_number < ${last.number} AND created_at <= ${last.ended_at}::timestamptz`,
  );
}

/** The stored events, whose positions in their turn have no gap. */
async function copyEvents(
  tx: EntityManager,
  from: string,
  to: string,
  turns: CopiedTurn[],
  newTurnIds: string[],
): Promise<void> {
  const count = turns.reduce((sum, { position }) => sum + position, 0);
  const ids = Array.from({ length: count }, () => newId('event'));
  await runSql(
    tx,
    sql`WITH old AS (
          SELECT row_number() OVER (ORDER BY turn_number, position) AS n, turn_id, turn_number, position, type, data, created_at
          FROM events WHERE session_id = ${from} AND turn_number <= ${turns.at(-1)!.number}),
        copied AS (
          SELECT * FROM unnest(${turns.map(({ id }) => id)}::text[], ${newTurnIds}::text[]) AS copied (old, new))
        INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
        SELECT new_ids.id, ${to}, copied.new, turn_number, position, type,
          CASE WHEN type = 'turn.continued' THEN json_build_object('continues_turn_id', (
            SELECT continued.new FROM copied continued WHERE continued.old = data->>'continues_turn_id')) ELSE data END,
          created_at
        FROM old JOIN copied ON copied.old = old.turn_id
          JOIN unnest(${ids}::text[]) WITH ORDINALITY AS new_ids (id, n) ON new_ids.n = old.n`,
  );
}
