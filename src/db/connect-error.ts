import { SetupError } from '../platform/setup-error.js';

/** SQLSTATEs of a server that answered, and refuses this login whenever it is tried: class 28, unknown database, no right to connect. */
const REFUSED = /^(28...|3D000|42501)$/;

/** A connection could not be opened. The cause says why; waiting may help. */
export class DatabaseAwayError extends Error {
  override readonly name = 'DatabaseAwayError';
  constructor(cause: unknown) {
    super(`No connection to Postgres could be opened: ${reasonOf(cause)}`, { cause });
  }
}

/** Postgres refuses the login, or the database: waiting does not help. */
export class LoginRefusedError extends SetupError {
  override readonly name = 'LoginRefusedError';
  readonly code: string;
  constructor(cause: Error & { code: string }) {
    super(
      `Postgres refuses the login: ${cause.message}. Check user, password and database name of DATABASE_URL; with DATABASE_AUTH=google_iam, ` +
        'that the user is the IAM user of this process’ account, and that the account may log in (docs/operations/gcp.md).',
      { cause },
    );
    this.code = cause.code;
  }
}

/** What an error means that came while a connection was opened: decided by the place, because the causes have no end. */
export function connectError(cause: unknown): DatabaseAwayError | LoginRefusedError {
  if (cause instanceof DatabaseAwayError || cause instanceof LoginRefusedError) return cause;
  if (cause instanceof Error && 'code' in cause && REFUSED.test(String(cause.code))) {
    return new LoginRefusedError(cause as Error & { code: string });
  }
  return new DatabaseAwayError(cause);
}

function reasonOf(cause: unknown): string {
  // Of a name with several addresses.
  if (cause instanceof AggregateError && cause.message === '') return reasonOf(cause.errors[0]);
  return cause instanceof Error ? cause.message : String(cause);
}
