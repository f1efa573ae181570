import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type pg from 'pg';
import { ConnectingClient } from './connecting-client.js';

/** A prepared `SELECT *` fails after a migration adds a column, so these statements are not prepared. */
const ALL_COLUMNS = /\b(SELECT|RETURNING) (\w+\.)?\*/i;

/** SQLSTATE read_only_sql_transaction: the server is a standby, or a primary that became one. */
const READ_ONLY = '25006';

/** Null: it is not prepared. */
const names = new Map<string, string | null>();

type ClientConfig = pg.ClientConfig & { answerTimeoutMs?: number };

/**
 * A client that prepares each statement with parameters once per connection, named after its text. Postgres then parses
 * and plans it once, which halves the cost of a turn's many small statements.
 * It closes a connection that does not answer in time or cannot write, so that the pool opens a new one: after a
 * failover the old connections lead to a server that is gone or read-only.
 */
export class PreparedClient extends ConnectingClient {
  /** Longer than Postgres' own statement_timeout: only a server that does not answer at all reaches it. */
  static readonly ANSWER_TIMEOUT_MS = 12_000;
  readonly #answerTimeoutMs: number | undefined;

  constructor(config?: string | ClientConfig) {
    super(config);
    this.#answerTimeoutMs = typeof config === 'object' ? config.answerTimeoutMs : undefined;
    // Pool and typeorm attach error listeners in turns. Without this one, a connection that dies in between would end
    // the process.
    this.on('error', () => undefined);
  }

  // typeorm calls it with (text, values). Every other form passes through.
  override query(...args: unknown[]): never {
    const [text, values, ...rest] = args;
    const name = typeof text === 'string' && Array.isArray(values) && values.length > 0 ? nameOf(text) : null;
    const form = name === null ? args : [{ name, text, values }, ...rest];
    const answer: unknown = (super.query as (...form: unknown[]) => unknown).apply(this, form);
    if (answer instanceof Promise) this.#watch(answer);
    return answer as never;
  }

  #watch(answer: Promise<unknown>): void {
    const timer =
      this.#answerTimeoutMs === undefined
        ? undefined
        : setTimeout(() => this.#drop('Postgres did not answer in time'), this.#answerTimeoutMs);
    answer.then(
      () => clearTimeout(timer),
      (error: unknown) => {
        clearTimeout(timer);
        if ((error as { code?: unknown }).code === READ_ONLY) this.#drop('the connection leads to a read-only server');
      },
    );
  }

  /** Closes the socket without notifying the server. Waiting queries fail as after a lost connection. */
  #drop(reason: string): void {
    const { stream } = (this as unknown as { connection: { stream: Socket } }).connection;
    stream.destroy(new Error(`Connection terminated: ${reason}`));
  }
}

function nameOf(text: string): string | null {
  let name = names.get(text);
  if (name === undefined) {
    name = ALL_COLUMNS.test(text) ? null : createHash('sha256').update(text).digest('base64url').slice(0, 32);
    names.set(text, name);
  }
  return name;
}
