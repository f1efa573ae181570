import type { DataSource, EntityManager } from 'typeorm';
import type { Turn } from '../db/entities/turns.js';
import { OPEN, isOpen } from '../db/turn-states.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { transaction, type Db } from '../db/transaction.js';
import type { LiveEvents, Notifier } from '../stream/notify.js';
import type { TurnPosition } from '../stream/position.js';
import type { EventRow, EventToStore } from '../events/store.js';
import type { Config } from '../platform/config.js';
import type { Logger } from '../platform/logger.js';
import { observeOutcome, traceTurn, type TurnResult } from './outcome.js';
import { OvertakenError, TurnEndedError } from './turn.js';

export interface TurnDeps {
  db: DataSource;
  notifier: Notifier;
  log: Logger;
  /** Without it, the metadata of turns that end are kept until maintenance forgets them. */
  config?: Pick<Config, 'usageMetadataDays'>;
}

/** A fence: a condition on the turn's row, without which it accepts no write. */
export function running(turnId: string, where: Sql = rawSql('true')): Sql {
  return sql`id = ${turnId} AND state = 'running' AND ${where}`;
}

export function open(turnId: string): Sql {
  return sql`id = ${turnId} AND ${rawSql(OPEN)}`;
}

/**
 * A change of one turn: everything in it is stored, or nothing. Its statement locks the turn's row before all else, if the
 * row passes the fence, then updates it. It returns a row if it wrote: the caller's columns, and with events a `Place`.
 */
export interface TurnWrite {
  statement: Sql;
  /** The events that the statement appends, in order. */
  events?: EventToStore[];
  /** The attempt whose deltas precede `events`, and their number. */
  streamed?: { attempt: number; deltas: number };
  /** Id of the terminal event after `events`, if the statement ends the turn (src/turns/end). */
  endId?: string;
}

/** The columns that a statement with events returns: the turn after the write, and how it ended. */
type Place = Pick<Turn, 'state' | 'position'> & {
  session_id: string;
  at: string;
  /** The data of the terminal event. */
  terminal?: string;
  cancel_ms?: number | null;
};

interface Written<Row> {
  row: Row;
  events: EventRow[];
  /** Present when the write ended the turn. */
  result: TurnResult | null;
}

/**
 * Changes one turn in one statement. Nothing else changes the state of an existing turn or appends its events, except for
 * `changeTurn`, which does the same after other work. Watchers are notified after the commit.
 * @throws TurnEndedError, OvertakenError if the fence refuses the write
 */
export async function writeTurn<Row>(deps: TurnDeps, turnId: string, write: TurnWrite): Promise<Written<Row>> {
  const written = await run<Row>(deps.db, turnId, write);
  await notifyWatchers(deps, turnId, write, written);
  return written;
}

type LockedTurn = Pick<Turn, 'state' | 'position' | 'cancelRequested'>;

export interface TurnTransaction {
  tx: EntityManager;
  lock: (fence: Sql) => Promise<LockedTurn>;
  write: <Row>(write: TurnWrite) => Promise<Written<Row>>;
}

/**
 * Changes one turn in a transaction, when the change depends on the turn's rows or writes others with it. Returns what
 * `work` returns. After a deadlock `work` runs again.
 * @throws TurnEndedError, OvertakenError if the fence refuses the lock or a write
 */
export async function changeTurn<T>(
  deps: TurnDeps,
  turnId: string,
  work: (transaction: TurnTransaction) => Promise<T>,
): Promise<T> {
  const { value, done } = await transaction(deps.db, async (tx) => {
    const done: { write: TurnWrite; written: Written<unknown> }[] = [];
    const write = async <Row>(one: TurnWrite): Promise<Written<Row>> => {
      const written = await run<Row>(tx, turnId, one);
      done.push({ write: one, written });
      return written;
    };
    const value = await work({ tx, lock: (fence) => lock(tx, turnId, fence), write });
    return { value, done };
  });
  for (const { write, written } of done) await notifyWatchers(deps, turnId, write, written);
  return value;
}

async function lock(tx: EntityManager, turnId: string, fence: Sql): Promise<LockedTurn> {
  const [turn] = await runSql<LockedTurn>(
    tx,
    sql`SELECT state, position, cancel_requested_at IS NOT NULL AS "cancelRequested" FROM turns WHERE ${fence} FOR NO KEY UPDATE`,
  );
  return turn ?? refuse(tx, turnId);
}

async function run<Row>(db: Db, turnId: string, { statement, events = [], endId }: TurnWrite): Promise<Written<Row>> {
  const [row] = await runSql<Row & Place>(db, statement);
  if (row === undefined) return refuse(db, turnId);
  const { state, position, at, terminal, cancel_ms = null } = row;
  const all = [...events];
  if (endId !== undefined) all.push({ id: endId, type: `turn.${state}`, data: terminal! });
  const first = position - all.length + 1;
  return {
    row,
    events: all.map((event, n) => ({ ...event, turn_id: turnId, position: first + n, created_at: at })),
    result: endId === undefined ? null : { ...(JSON.parse(terminal!) as TurnResult), state, cancel_ms },
  };
}

async function refuse(db: Db, turnId: string): Promise<never> {
  const [turn] = await runSql<Pick<Turn, 'state'>>(db, sql`SELECT state FROM turns WHERE id = ${turnId}`);
  if (turn !== undefined && isOpen(turn.state)) throw new OvertakenError(turnId);
  throw new TurnEndedError(turnId, turn?.state);
}

/** Notifies watchers of a committed write. If it ended the turn, the end is counted, logged and traced. */
async function notifyWatchers(
  { db, notifier, log }: TurnDeps,
  turnId: string,
  { streamed }: TurnWrite,
  { row, events, result }: Written<unknown>,
): Promise<void> {
  if (events.length === 0) return;
  const { session_id, position } = row as Place;
  const turn = { id: turnId, sessionId: session_id, position };
  notifier.notify(turn, streamed === undefined ? null : liveEvents(events, streamed));
  if (result === null) return;
  observeOutcome(turn, result, log);
  await traceTurn(db, turn, result);
}

/** Without `streamed` it is not known what watchers have seen: they read the tables. */
function liveEvents(events: EventRow[], { attempt, deltas }: NonNullable<TurnWrite['streamed']>): LiveEvents {
  const before = events[0]!.position - 1;
  const after: TurnPosition = deltas === 0 ? [before, 0, 0] : [before, attempt, deltas];
  return { after, events };
}
