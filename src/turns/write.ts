import type { DataSource, EntityManager } from 'typeorm';
import { joinSql, rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { transaction, type Db } from '../db/transaction.js';
import type { LiveEvents, Notifier } from '../stream/notify.js';
import type { Position } from '../stream/position.js';
import type { NewEvent } from '../events/schema.js';
import { insertEvents, newEvents, type EventRow } from '../events/store.js';
import type { Logger } from '../platform/logger.js';
import { newId } from '../platform/ids.js';
import { isOpen, OPEN_STATES } from '../db/turn-states.js';
import { CLOSE } from './close.js';
import { observeOutcome, type TurnOutcome, type TurnResult } from './outcome.js';
import { terminalData } from './totals.js';
import { traceTurn } from './turn-span.js';
import { OvertakenError, TurnEndedError, type Turn } from './turn.js';

/** Dependencies of functions that write turns. */
export interface TurnDeps {
  db: DataSource;
  notifier: Notifier;
  log: Logger;
}

/** Conditions that a turn must meet to accept a write. */
export interface WriteFence {
  from: 'running' | 'open';
  /** An additional condition on the turn's row. */
  where?: Sql;
}

/** A change of a turn: all of it is stored, or nothing. */
export interface TurnChange {
  /** Events to append, in order. */
  events?: NewEvent[];
  /** The attempt whose deltas precede `events`, and their number. */
  streamed?: { attempt: number; deltas: number };
  /** Moves a queued turn to running. */
  claim?: boolean;
  /** Ends the turn with a terminal event after `events`. A recorded cancel request wins over another outcome. */
  outcome?: TurnOutcome;
  /** Assignments to columns of `turns`; `now.at` is the time of the write. */
  set?: Sql[];
  /** A statement that reads from the locked row `turn`. If it returns no row, the write is refused. */
  guard?: Sql;
  /** Further statements of the write. They read from the row `written`. */
  parts?: Sql[];
  /** Further work in the same transaction, after the write. */
  also?: (tx: EntityManager, written: WrittenTurn) => Promise<void>;
}

export type LockedTurn = Pick<
  Turn,
  'id' | 'session_id' | 'project_id' | 'number' | 'state' | 'position' | 'cancel_requested_at'
>;

/** A turn after a write. `Guard` is the row of the change's `guard`. */
interface WrittenTurn<Guard = unknown> extends Pick<
  Turn,
  'id' | 'session_id' | 'project_id' | 'state' | 'position' | 'model_calls'
> {
  events: EventRow[];
  /** The events for watchers; null if the change does not say what was streamed before: they read the tables. */
  live: LiveEvents | null;
  guard: Guard;
  /** Present when this write ended the turn. */
  result: TurnResult | null;
}

/**
 * Changes one turn atomically. No other code changes the state of an existing turn or appends its events. A change that
 * is known beforehand takes one statement. A change that depends on the turn is a function of the locked row and the
 * transaction.
 * @throws TurnEndedError, OvertakenError if the fence refuses the write
 */
export async function writeTurn<Guard = unknown>(
  { db, notifier, log }: TurnDeps,
  turnId: string,
  fence: WriteFence,
  change: TurnChange | ((turn: LockedTurn, tx: EntityManager) => Promise<TurnChange>),
): Promise<WrittenTurn<Guard>> {
  const inTransaction = async (tx: EntityManager): Promise<WrittenTurn<Guard>> => {
    const known = typeof change === 'function' ? await change(await lockTurn(tx, turnId, fence), tx) : change;
    const written = await write<Guard>(tx, turnId, fence, known);
    await known.also?.(tx, written);
    return written;
  };
  const isOneStatement = typeof change !== 'function' && change.also === undefined;
  const written = isOneStatement ? await write<Guard>(db, turnId, fence, change) : await transaction(db, inTransaction);
  if (written.events.length > 0) notifier.notify(written, written.live);
  if (written.result !== null) {
    observeOutcome(written, written.result, log);
    await traceTurn(db, written, written.result);
  }
  return written;
}

async function lockTurn(tx: EntityManager, turnId: string, fence: WriteFence): Promise<LockedTurn> {
  const [turn] = await runSql<LockedTurn>(
    tx,
    sql`SELECT id, session_id, project_id, number, state, position, cancel_requested_at
        FROM turns WHERE ${condition(turnId, fence)} FOR NO KEY UPDATE`,
  );
  return turn ?? refuse(tx, turnId);
}

function condition(turnId: string, { from, where }: WriteFence, outcome?: TurnOutcome): Sql {
  // A queued turn can be cancelled and can fail, but only a running one completes.
  const states = from === 'open' && outcome?.kind !== 'completed' ? OPEN_STATES : ['running'];
  return sql`id = ${turnId} AND state = ANY(${states}::text[]) AND ${where ?? rawSql('true')}`;
}

async function refuse(db: Db, turnId: string): Promise<never> {
  const [turn] = await runSql<Pick<Turn, 'state'>>(db, sql`SELECT state FROM turns WHERE id = ${turnId}`);
  if (turn !== undefined && isOpen(turn.state)) throw new OvertakenError(turnId);
  throw new TurnEndedError(turnId, turn?.state);
}

interface WrittenRow extends Omit<WrittenTurn, 'events' | 'live' | 'result'> {
  at: string;
  cancel_ms: number | null;
  terminal: string | null;
}

/** One statement that locks the row, checks the fence and writes. It locks the row before all else. */
async function write<Guard>(
  db: Db,
  turnId: string,
  fence: WriteFence,
  change: TurnChange,
): Promise<WrittenTurn<Guard>> {
  const { outcome, streamed } = change;
  const events = newEvents(change.events ?? []);
  const terminalId = newId('event');
  const count = events.length + (outcome === undefined ? 0 : 1);
  const terminal = outcome === undefined ? rawSql('NULL::json') : terminalData(outcome);
  const [row] = await runSql<WrittenRow>(
    db,
    sql`WITH turn AS MATERIALIZED (
          SELECT id, session_id, position, started_at FROM turns
          WHERE ${condition(turnId, fence, outcome)} FOR NO KEY UPDATE),
        guard AS (${change.guard ?? rawSql('SELECT FROM turn')}),
        now AS MATERIALIZED (SELECT turn.id, clock_timestamp() AS at FROM turn, guard),
        written AS (
          UPDATE turns SET ${joinSql(assignments(change, count), ', ')} FROM now WHERE turns.id = now.id
          RETURNING ${COLUMNS}, now.at),
        terminal AS (SELECT ${terminal} AS data FROM written),
        ${insertEvents(events, count, outcome && sql`SELECT ${terminalId}, 'turn.' || state, terminal.data FROM written, terminal`)}
        ${joinSql(
          [...(change.parts ?? []), ...(outcome === undefined ? [] : CLOSE)].map(
            (part, index) => sql`, ${rawSql(`part${index}`)} AS (${part})`,
          ),
          '',
        )}
        SELECT written.id, session_id, project_id, state, position, model_calls, at, terminal.data::text AS terminal,
          round(extract(epoch FROM at - cancel_requested_at) * 1000)::bigint AS cancel_ms,
          (SELECT row_to_json(guard) FROM guard) AS guard
        FROM written, terminal`,
  );
  if (row === undefined) return refuse(db, turnId);
  const { at, terminal: data, cancel_ms, ...written } = row;
  const all = data === null ? events : [...events, { id: terminalId, type: `turn.${row.state}`, data }];
  const result = data === null ? null : { ...(JSON.parse(data) as TurnResult), state: row.state, cancel_ms };
  const first = row.position - count + 1;
  const stored = all.map((event, n) => ({ ...event, turn_id: row.id, position: first + n, created_at: at }));
  return {
    ...written,
    guard: row.guard as Guard,
    events: stored,
    live: streamed === undefined ? null : { after: lastFrame(first - 1, streamed), events: stored },
    result,
  };
}

function lastFrame(position: number, { attempt, deltas }: NonNullable<TurnChange['streamed']>): Position {
  return deltas === 0 ? [position, 0, 0] : [position, attempt, deltas];
}

/** Columns of the row after the write, for the statements of a write. */
const COLUMNS = rawSql(`turns.id, session_id, project_id, number, state, position, queued_at, started_at, ended_at,
  cancel_requested_at, connect_ms, first_token_at, input_tokens, output_tokens, cache_read_input_tokens,
  cache_creation_input_tokens, model_calls, model_time, model_started_at, tools_time, tools_started_at,
  waiting_time, waiting_started_at`);

function assignments({ claim, outcome, set = [] }: TurnChange, events: number): Sql[] {
  const base = sql`position = turns.position + ${events}::integer, progress_at = now.at`;
  return [base, ...(claim === true ? [CLAIM] : []), ...(outcome === undefined ? [] : [end(outcome)]), ...set];
}

const CLAIM = rawSql(
  `state = 'running', started_at = coalesce(turns.started_at, now.at),
   transition_at = CASE turns.state WHEN 'queued' THEN now.at ELSE turns.transition_at END`,
);

function end({ kind }: TurnOutcome): Sql {
  return sql`state = CASE WHEN turns.cancel_requested_at IS NULL THEN ${kind} ELSE 'cancelled' END,
    ended_at = now.at, transition_at = now.at`;
}
