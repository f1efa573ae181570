import type pg from 'pg';
import {
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
  type DataSource,
  type EntityManager,
  type QueryRunner,
} from 'typeorm';
import { DatabaseAwayError, LoginRefusedError } from './connect-error.js';
import { answerOf, send } from './direct-data-source.js';
import { ProjectShareError } from './project-pool.js';
import { ignored } from '../platform/ignored.js';

const TRIES = 5;
/** SQLSTATEs serialization_failure and deadlock_detected: the transaction was rolled back and can be retried. */
const RETRIED = new Set(['40001', '40P01']);

/**
 * Runs `work` in one transaction. After a deadlock or a serialization failure it runs again from the start, so it must have no
 * effect outside of the transaction.
 */
export async function transaction<T>(dataSource: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runOnce(dataSource, work);
    } catch (error) {
      if (attempt === TRIES || !RETRIED.has(sqlState(error) ?? '')) throw error;
    }
  }
}

/** A transaction under way. */
class OpenTransaction {
  /** The answers that nobody waits for, since the beginning or the last savepoint. */
  #written: Promise<unknown>[] = [];
  #last: (() => void)[] = [];
  /** Why it could not be rolled back. */
  failure: unknown;

  constructor(private readonly client: pg.ClientBase) {}

  async query(text: string, values?: unknown[]): Promise<unknown> {
    return answerOf(await send(this.client, text, values));
  }

  write(text: string, values?: unknown[], failureOf: (error: unknown) => unknown = (error) => error): void {
    const answer = send(this.client, text, values).catch((error: unknown) => {
      throw failureOf(error);
    });
    answer.catch(ignored('the commit has the error'));
    this.#written.push(answer);
  }

  atEnd(write: () => void): void {
    this.#last.push(write);
  }

  /** Sends a statement that keeps what was written, and waits for all of it. @throws the first failure */
  async keep(statement: 'SAVEPOINT part' | 'RELEASE SAVEPOINT part' | 'COMMIT'): Promise<void> {
    if (statement !== 'SAVEPOINT part') for (const write of this.#last.splice(0)) write();
    const [answer] = await Promise.all([send(this.client, statement), ...this.#written]);
    // So Postgres answers if a statement had failed.
    if (answer.command === 'ROLLBACK') throw new Error('the transaction had failed before its commit');
    this.#written = [];
  }

  /** Undoes what was written. Returns the first failure: after it, Postgres refuses each statement. */
  async undo(statement: 'ROLLBACK TO SAVEPOINT part' | 'ROLLBACK', error: unknown): Promise<unknown> {
    this.#last = [];
    const undone = send(this.client, statement).catch((failure: unknown) => void (this.failure = failure));
    const outcomes = await Promise.allSettled(this.#written.splice(0));
    await undone;
    return outcomes.find((outcome) => outcome.status === 'rejected')?.reason ?? error;
  }
}

const transactions = new WeakMap<EntityManager, OpenTransaction>();

async function runOnce<T>(dataSource: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  const runner = dataSource.createQueryRunner() as OwnRunner;
  const transaction = new OpenTransaction((await runner.connect()) as pg.PoolClient);
  const tx = runner.manager;
  transactions.set(tx, transaction);
  // The queries that typeorm builds use the runner, which sends to the same connection; those with a lock ask for a transaction.
  Object.assign(runner, { isTransactionActive: true });
  Object.assign(tx, { query: (text: string, values?: unknown[]) => transaction.query(text, values) });
  // It travels with the first statement.
  transaction.write('BEGIN');
  try {
    const value = await work(tx);
    await transaction.keep('COMMIT');
    return value;
  } catch (error) {
    throw await transaction.undo('ROLLBACK', error);
  } finally {
    transactions.delete(tx);
    await runner.releasePostgresConnection(transaction.failure);
  }
}

/** Released with an error, the connection is closed. */
export type OwnRunner = QueryRunner & { releasePostgresConnection(error?: unknown): Promise<void> };

/**
 * Sends a statement of a transaction whose answer nothing depends on. It is not waited for: it travels with those behind it, and
 * with the commit. The transaction fails with its error.
 * @param tx of `transaction`
 */
export function write(tx: EntityManager, text: string, values: unknown[]): void {
  openOf(tx).write(text, values);
}

/**
 * The same right before the commit, or before the end of the savepoint: for a lock that many others wait for.
 * @param failureOf converts its error
 */
export function writeLast(
  tx: EntityManager,
  text: string,
  values: unknown[],
  failureOf: (error: unknown) => unknown,
): void {
  const transaction = openOf(tx);
  transaction.atEnd(() => transaction.write(text, values, failureOf));
}

function openOf(tx: EntityManager): OpenTransaction {
  const found = transactions.get(tx);
  if (found === undefined) throw new Error('a write outside of a transaction, or after its end');
  return found;
}

/** Runs a part of a transaction that is undone alone if it fails. Savepoints do not nest. */
export async function savepoint<T>(tx: EntityManager, work: () => Promise<T>): Promise<T> {
  const transaction = openOf(tx);
  await transaction.keep('SAVEPOINT part');
  try {
    const value = await work();
    await transaction.keep('RELEASE SAVEPOINT part');
    return value;
  } catch (error) {
    throw await transaction.undo('ROLLBACK TO SAVEPOINT part', error);
  }
}

export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const code = 'code' in error ? error.code : (error as { driverError?: { code?: unknown } }).driverError?.code;
  return typeof code === 'string' ? code : undefined;
}

export function violatedUniqueConstraint(error: unknown): string | undefined {
  if (sqlState(error) !== '23505') return undefined;
  const { constraint, driverError } = error as { constraint?: string; driverError?: { constraint?: string } };
  return constraint ?? driverError?.constraint;
}

/** Codes of a connection that ends while it is in use. */
const LOST_CODES = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);

/** SQLSTATEs of a server that cannot serve now but may soon: during a failover, a restart or an overload. */
const AWAY_STATES = new Set([
  '25006', // read-only: a standby, or a primary that was demoted
  '25P03', // idle-in-transaction timeout
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '55P03', // lock timeout
  '57014', // statement timeout
  '58030', // I/O error
]);

/**
 * True if the error means that Postgres is away or cannot serve now, so that a retry may succeed: a connection could not be
 * opened, whatever the cause (`connectError`), or an open one was lost or is not served.
 */
export function isDatabaseAway(error: unknown): boolean {
  const cause = (error as { driverError?: unknown } | undefined)?.driverError ?? error;
  if (cause instanceof DatabaseAwayError || cause instanceof ProjectShareError) return true;
  if (cause instanceof LoginRefusedError) return false;
  const code = sqlState(error);
  if (code !== undefined) {
    return code.startsWith('08') || code.startsWith('57P') || AWAY_STATES.has(code) || LOST_CODES.has(code);
  }
  // typeorm releases a connection that dies between two statements of a transaction.
  if (error instanceof QueryRunnerProviderAlreadyReleasedError || error instanceof QueryRunnerAlreadyReleasedError) {
    return true;
  }
  // pg and its pool report these without a code, by fixed messages.
  return (
    cause instanceof Error &&
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
      cause.message,
    )
  );
}

/** SQLSTATEs of a lock timeout and a statement timeout. */
const BUSY_STATES = new Set(['55P03', '57014']);

/** True if Postgres answers, but not in time: it stopped a statement, or all connections of the pool stayed in use. */
export function isDatabaseBusy(error: unknown): boolean {
  const cause = (error as { driverError?: unknown } | undefined)?.driverError ?? error;
  if (BUSY_STATES.has(sqlState(error) ?? '')) return true;
  return cause instanceof Error && cause.message.startsWith('timeout exceeded when trying to connect');
}
