import type { Tx } from '../db/db.js';
import { ROWS_OF_TURN, type CopiedRows } from '../db/rows-of-turn.js';
import { isOpen, type TurnState } from '../db/turn-states.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { requireStorage } from '../files/storage-limit.js';
import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import { MIB } from '../platform/units.js';
import { isErased, lockForNewSession } from '../sessions/erasing.js';
import { loadRequiredActions, sessionRunning } from '../sessions/required-actions.js';
import {
  HAS_ENTRY,
  MODEL_ID,
  TURN_CONFIGURATION,
  configurationOfSession,
  configurationOfTurn,
} from '../sessions/configured.js';
import { insertOverrides, referenceColumns, type NewAgentOfSession } from '../sessions/agent-of-session.js';
import { insertSessionState, insertWorkspace } from '../sessions/store.js';
import { joinFamily, requireRoomForCopy } from '../sessions/families.js';
import { sessionGone } from '../sessions/gone.js';

/** Stored events that one fork may copy. */
export const MAX_FORKED_EVENTS = 20_000;
/** Bytes of rows that one fork may copy, as they count in the storage of a project. */
export const MAX_FORKED_BYTES = 128 * MIB;

/**
 * A statement of a fork copies at most so much (beyond one row), so that it ends in time on a busy database: some 50 ms on an idle one.
 * All of a fork are one transaction.
 */
const PORTION = { rows: 1000, bytes: 4 * MIB };

/** Which turns are copied: those before a turn, those up to an ended one, or, without either, all that ended. */
export interface ForkPoint {
  beforeTurnId?: string | undefined;
  afterTurnId?: string | undefined;
}

/** What the fork has instead of the values of the session: `model` in one of a configuration of its own. */
export interface ForkFields {
  /** `currency`: that of the model's price; null without a price. */
  model?: { id: string; currency: string | null } | undefined;
  metadata?: Record<string, string> | undefined;
  /** In place of the session's configuration, or of its reference; `currency` as of a model. */
  agent?: Omit<NewAgentOfSession, 'hasWorkspace'> | undefined;
  /** A session token asks for it: the copy has the limits of its session (src/sessions/families). */
  byToken: boolean;
}

interface CopiedTurn {
  id: string;
  number: number;
  state: TurnState;
  /** Number of its stored events. */
  position: number;
  ended_at: string;
  continues_turn_id: string | null;
  /** The id of the copy. */
  newId: string;
}

/** A turn of a copy, and what it continues there. */
interface NewIds {
  id: string;
  continues: string | null;
}

/**
 * Copies a session and its turns under new ids, and returns the id of the copy. An ended turn never changes, so the session is
 * not locked. What the copied model calls cost stays with the session: the turns of a copy cost nothing.
 * @param maxStorageBytes of the project; 0 for no limit
 * @throws ServiceError `session_not_found`, `turn_not_found`, `session_running`, `fork_too_large`, `fork_limit_reached`,
 * `storage_limit_reached`
 */
export async function forkSession(
  tx: Tx,
  session: { id: string; project_id: string; end_user: string | null },
  point: ForkPoint,
  fields: ForkFields,
  maxStorageBytes: number,
): Promise<string> {
  // An erasure of its user that began is seen here, and one that begins meanwhile waits, and erases the copy.
  lockForNewSession(tx, session.project_id, session.end_user);
  if (session.end_user !== null && (await isErased(tx, session.id))) sessionGone(session.id);
  if (fields.byToken) await requireRoomForCopy(tx, session.id);
  const turns = await turnsToCopy(tx, session.id, point);
  const bytes = await bytesToCopy(tx, session.id, turns);
  await requireStorage(tx, session.project_id, maxStorageBytes, bytes);
  const to = newId('session');
  const hasWorkspace = await copySession(tx, session, to, fields, turns.at(-1), bytes);
  if (turns.length > 0) await copyTurns(tx, session.id, to, turns);
  const isCopied = await copyWorkspace(tx, session.id, to, turns.at(-1)?.number ?? 0);
  if (!isCopied && hasWorkspace) await addWorkspace(tx, session, to);
  if (isCopied) await requireStorage(tx, session.project_id, maxStorageBytes, bytes);
  await joinFamily(tx, { from: session.id, to, projectId: session.project_id, byToken: fields.byToken });
  return to;
}

async function turnsToCopy(tx: Tx, sessionId: string, point: ForkPoint): Promise<CopiedTurn[]> {
  const last = await lastTurnToCopy(tx, sessionId, point);
  const turns = await runSql<CopiedTurn>(
    tx,
    sql`SELECT id, number, state, position, ended_at, continues_turn_id FROM turns
        WHERE session_id = ${sessionId} AND number <= ${last} AND ended_at IS NOT NULL
        ORDER BY number LIMIT ${MAX_FORKED_EVENTS + 1}`,
  );
  const events = turns.reduce((sum, { position }) => sum + position, 0);
  if (events > MAX_FORKED_EVENTS) throw tooLarge(`${MAX_FORKED_EVENTS} events`);
  return turns.map((turn) => ({ ...turn, newId: newId('turn') }));
}

async function bytesToCopy(tx: Tx, sessionId: string, turns: CopiedTurn[]): Promise<number> {
  const [row] = await runSql<{ bytes: number }>(
    tx,
    sql`SELECT row_bytes_of_turns(${sessionId}, 1, ${turns.at(-1)?.number ?? 0}) AS bytes`,
  );
  if (row!.bytes > MAX_FORKED_BYTES) throw tooLarge(`${MAX_FORKED_BYTES} bytes`);
  return row!.bytes;
}

function tooLarge(limit: string): ServiceError {
  return new ServiceError(
    'fork_too_large',
    `A fork copies at most ${limit}. Fork before an earlier turn, or begin a new session.`,
    { max_events: MAX_FORKED_EVENTS, max_bytes: MAX_FORKED_BYTES },
  );
}

/** The number of the last turn to copy. Only the latest turn of a session can be open. */
async function lastTurnToCopy(tx: Tx, sessionId: string, { beforeTurnId, afterTurnId }: ForkPoint): Promise<number> {
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
 * later one; false if the session has none. It counts in the storage of the project when the fork changes it. Objects never change, so both sessions name the same ones until one of them changes its
 * tree. Should the session change it before the fork is there, storage maintenance keeps the objects for much longer than that takes.
 */
async function copyWorkspace(tx: Tx, from: string, to: string, lastTurn: number): Promise<boolean> {
  const columns = sql`project_id, turn_number, version, objects, object_bytes, cwd, size_bytes, file_count, updated_at`;
  const copied = await runSql(
    tx,
    sql`INSERT INTO workspaces (session_id, project_id, turn_number, version, objects, object_bytes, cwd, size_bytes, file_count,
          updated_at, began, is_counted)
        SELECT ${to}, project_id, ${lastTurn}, version, objects, object_bytes, cwd, size_bytes, file_count, updated_at,
          CASE WHEN turn_number <= ${lastTurn} THEN 'exact' ELSE 'later' END, false
        FROM (
          SELECT ${columns} FROM workspaces WHERE session_id = ${from}
          UNION ALL SELECT ${columns} FROM kept_workspaces WHERE session_id = ${from}) AS versions
        ORDER BY turn_number <= ${lastTurn} DESC, abs(turn_number - ${lastTurn}::integer) LIMIT 1
        RETURNING session_id`,
  );
  return copied.length > 0;
}

/** Returns whether the fork's next turn has a workspace. */
async function copySession(
  tx: Tx,
  { id: from, project_id }: { id: string; project_id: string },
  to: string,
  { model, metadata, agent }: ForkFields,
  last: CopiedTurn | undefined,
  turnBytes: number,
): Promise<boolean> {
  const { currency } = agent ?? model ?? {};
  const number = await copyConfiguration(tx, from, to, model?.id);
  const columns = agent && referenceColumns(agent, number);
  const reference =
    columns === undefined
      ? sql`CASE WHEN agent_id IS NULL THEN ${to} ELSE configuration_id END, agent_id, agent_version, overrides_number`
      : sql`${columns.configuration_id}::text, ${columns.agent_id}, ${columns.agent_version}::integer,
          ${columns.overrides_number}::integer`;
  const copied = await runSql(
    tx,
    sql`INSERT INTO sessions (id, project_id, model_id, thinking_enabled, instruction, mcp_servers, metadata, tools,
          model_tools, currency, fallback_model_ids, budget, end_user, turn_count, last_turn_id, preview, preview_folded,
          forked_from_session_id, forked_from_turn_id, created_at, metadata_updated_at, configuration_id, agent_id, agent_version,
          overrides_number)
        SELECT ${to}, project_id, coalesce(${model?.id}::text, model_id), thinking_enabled, instruction, mcp_servers,
          coalesce(${metadata && JSON.stringify(metadata)}::json, metadata), tools, model_tools,
          CASE WHEN ${currency === undefined} THEN currency ELSE ${currency}::text END, fallback_model_ids, budget,
          end_user, ${last?.number ?? 0}::integer, ${last?.newId}::text,
          CASE WHEN ${last !== undefined} THEN preview END, CASE WHEN ${last !== undefined} THEN preview_folded END, id, ${last?.id}::text, statement_timestamp(),
          statement_timestamp(), ${reference}
        FROM sessions WHERE id = ${from} AND project_id = ${project_id} AND deleted_at IS NULL
        RETURNING id`,
  );
  if (copied.length === 0) sessionGone(from);
  if (agent !== undefined) insertOverrides(tx, to, number, agent.overrides);
  insertSessionState(tx, to, last?.state ?? 'idle', turnBytes);
  const [next] = await runSql<{ has_workspace: boolean }>(
    tx,
    sql`SELECT ${rawSql(HAS_ENTRY('workspace'))} AS has_workspace FROM sessions s ${rawSql(configurationOfSession('s'))}
        WHERE s.id = ${to}`,
  );
  return next!.has_workspace;
}

/**
 * Copies a session's own configuration, if it has or had one, and its overrides: those that the copied turns began with, too. Returns the
 * number of the fork's next overrides.
 */
async function copyConfiguration(tx: Tx, from: string, to: string, modelId: string | undefined): Promise<number> {
  await runSql(
    tx,
    sql`INSERT INTO configurations (id, model_id, thinking_enabled, instruction, mcp_servers, tools, model_tools, fallback_model_ids)
        SELECT ${to}, coalesce(${modelId}::text, model_id), thinking_enabled, instruction, mcp_servers, tools, model_tools,
          fallback_model_ids
        FROM configurations WHERE id = ${from}`,
  );
  const copied = await runSql<{ number: number }>(
    tx,
    sql`INSERT INTO session_overrides (session_id, number, overrides)
        SELECT ${to}, number, overrides FROM session_overrides WHERE session_id = ${from} RETURNING number`,
  );
  return copied.reduce((most, { number }) => Math.max(most, number), 0) + 1;
}

/** Gives a fork an empty workspace whose session had none yet. */
async function addWorkspace(tx: Tx, session: { id: string; project_id: string }, to: string): Promise<void> {
  const found = await runSql(tx, sql`SELECT FROM sessions WHERE id = ${session.id} AND deleted_at IS NULL`);
  // It was deleted meanwhile.
  if (found.length === 0) sessionGone(session.id);
  insertWorkspace(tx, { id: to, project_id: session.project_id });
}

async function copyTurns(tx: Tx, from: string, to: string, turns: CopiedTurn[]): Promise<void> {
  const newIdOf = new Map(turns.map(({ id, newId }) => [id, newId]));
  const newIds = new Map<number, NewIds>(
    turns.map(({ number, newId: id, continues_turn_id: continued }) => [
      number,
      { id, continues: (continued !== null && newIdOf.get(continued)) || null },
    ]),
  );
  const [, ...ofAgent] = TURN_CONFIGURATION;
  for (const some of portionsOf(turns.map((turn) => ({ ...turn, rows: 1, bytes: 0 })))) {
    const ids = some.map(({ number }) => newIds.get(number)!);
    await runSql(
      tx,
      sql`INSERT INTO turns (id, session_id, project_id, number, state, position, model_id, thinking_enabled,
            fallback_model_id, continues_turn_id, message_number, from_queue, end_reason, queued_at, started_at, ended_at,
            transition_at, cancel_requested_at, progress_at, connected_at, connect_ms, first_token_at, model_calls, currency, copied_from,
            ${rawSql(TURN_CONFIGURATION.join(', '))})
          SELECT copied.new, fork.id, t.project_id, t.number, state, position, coalesce(t.model_id, ${rawSql(MODEL_ID)}),
            t.thinking_enabled, t.fallback_model_id, copied.continued, message_number, from_queue,
            end_reason, queued_at, started_at, ended_at, transition_at, cancel_requested_at, progress_at, connected_at,
            connect_ms, first_token_at, model_calls, fork.currency, coalesce(copied_from, t.id),
            CASE WHEN t.configuration_id = ${from} THEN ${to} ELSE t.configuration_id END,
            ${rawSql(ofAgent.map((column) => `t.${column}`).join(', '))}
          FROM unnest(${some.map(({ id }) => id)}::text[], ${ids.map(({ id }) => id)}::text[],
              ${ids.map(({ continues }) => continues)}::text[]) AS copied (old, new, continued)
            JOIN turns t ON t.id = copied.old ${rawSql(configurationOfTurn('t'))} JOIN sessions fork ON fork.id = ${to}`,
    );
  }
  for (const { table, copied } of ROWS_OF_TURN) if (copied !== null) await copyRows(tx, from, to, turns, table, copied);
  await copyEvents(tx, from, to, turns.at(-1)!.number, newIds);
  const last = turns.at(-1)!;
  // Those that the copied turns made: a later turn's summary is not yet there.
  await runSql(
    tx,
    sql`INSERT INTO compactions (session_id, turn_number, summary, created_at)
        SELECT ${to}, turn_number, summary, created_at FROM compactions
        WHERE session_id = ${from} AND turn_number < ${last.number} AND created_at <= ${last.ended_at}::timestamptz`,
  );
}

/** Rows of the turn `number` at a place in it. */
interface Place {
  number: number;
  place: number;
  rows: number;
  bytes: number;
}

async function copyRows(
  tx: Tx,
  from: string,
  to: string,
  turns: CopiedTurn[],
  table: string,
  { columns, place, bytes, namesSession, only = 'true' }: CopiedRows,
): Promise<void> {
  const places = await tx.query<Place[]>(
    `SELECT t.number, ${place} AS place, count(*)::integer AS rows, sum(${bytes})::bigint AS bytes
     FROM turns t JOIN ${table} r ON r.turn_id = t.id WHERE t.session_id = $1 AND t.number <= $2 AND ${only} GROUP BY 1, 2 ORDER BY 1, 2`,
    [from, turns.at(-1)!.number],
  );
  for (const portion of portionsOf(places)) {
    const [first, last] = [portion[0]!, portion.at(-1)!];
    const some = turns.filter(({ number }) => number >= first.number && number <= last.number);
    await tx.query(
      `INSERT INTO ${table} (turn_id${namesSession ? ', session_id' : ''}, ${columns})
       SELECT copied.new${namesSession ? ', $8' : ''}, ${columns.replaceAll(/\w+/g, 'r.$&')}
       FROM unnest($1::text[], $2::text[], $3::integer[]) AS copied (old, new, number) JOIN ${table} r ON r.turn_id = copied.old
       WHERE (copied.number, ${place}) >= ($4::integer, $5::bigint) AND (copied.number, ${place}) <= ($6::integer, $7::bigint) AND ${only}`,
      [
        ...[some.map(({ id }) => id), some.map(({ newId }) => newId), some.map(({ number }) => number)],
        ...[first.number, first.place, last.number, last.place, ...(namesSession ? [to] : [])],
      ],
    );
  }
}

async function copyEvents(
  tx: Tx,
  from: string,
  to: string,
  lastNumber: number,
  newIds: ReadonlyMap<number, NewIds>,
): Promise<void> {
  const events = await runSql<Place>(
    tx,
    sql`SELECT turn_number AS number, position AS place, 1 AS rows, page_bytes AS bytes FROM events
        WHERE session_id = ${from} AND turn_number <= ${lastNumber} ORDER BY turn_number, position`,
  );
  for (const some of portionsOf(events)) {
    const turns = some.map(({ number }) => newIds.get(number)!);
    await runSql(
      tx,
      sql`INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
          SELECT copied.id, ${to}, copied.turn_id, e.turn_number, e.position, type,
            CASE WHEN type = 'turn.continued' THEN json_build_object('continues_turn_id', copied.continued) ELSE data END,
            created_at
          FROM unnest(${some.map(() => newId('event'))}::text[], ${turns.map(({ id }) => id)}::text[],
              ${turns.map(({ continues }) => continues)}::text[], ${some.map(({ number }) => number)}::integer[],
              ${some.map(({ place }) => place)}::integer[]) AS copied (id, turn_id, continued, turn_number, position)
            JOIN events e ON e.session_id = ${from} AND e.turn_number = copied.turn_number AND e.position = copied.position`,
    );
  }
}

/** Cuts a list into pieces, in its order. A piece has more rows or bytes than a portion only if it is one item. */
function portionsOf<Item extends { rows: number; bytes: number }>(items: readonly Item[]): Item[][] {
  const portions: Item[][] = [];
  let [rows, bytes] = [Infinity, 0];
  for (const item of items) {
    rows += item.rows;
    bytes += item.bytes;
    if (rows > PORTION.rows || bytes > PORTION.bytes) {
      portions.push([]);
      [rows, bytes] = [item.rows, item.bytes];
    }
    portions.at(-1)!.push(item);
  }
  return portions;
}
