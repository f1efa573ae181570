import {
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
  type DataSource,
  type EntityManager,
} from 'typeorm';
import { DatabaseAwayError, LoginRefusedError } from './connect-error.js';

/** A query runner: the pool or a transaction. */
export type Db = DataSource | EntityManager;

const TRIES = 5;
/** SQLSTATEs serialization_failure and deadlock_detected: the transaction was rolled back and can be retried. */
const RETRIED = new Set(['40001', '40P01']);

/** Runs `work` in one transaction. After a deadlock or a serialization failure it runs again from the start. */
export async function transaction<T>(dataSource: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await dataSource.transaction(work);
    } catch (error) {
      if (attempt === TRIES || !RETRIED.has(sqlState(error) ?? '')) throw error;
    }
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
  if (cause instanceof DatabaseAwayError) return true;
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
