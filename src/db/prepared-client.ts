import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import pg from 'pg';

/** A prepared `SELECT *` fails once a migration has added a column: such statements are planned each time. */
const ALL_COLUMNS = /\b(SELECT|RETURNING) (\w+\.)?\*/i;

/** read_only_sql_transaction: this connection leads to a standby, or to a primary that became one. */
const READ_ONLY = '25006';

const names = new Map<string, string>();

type ClientConfig = pg.ClientConfig & { answerTimeoutMs?: number };

/**
 * A client that prepares each statement with parameters once per connection, under a name made of its text: Postgres
 * then parses and plans it once, which is half of what the many small statements of a turn cost it.
 *
 * It drops a connection that gives no answer in time or that cannot write, so that the pool opens a new one: after a
 * failover the old connections lead to a server that is gone or read-only.
 */
export class PreparedClient extends pg.Client {
  /** Above Postgres' own statement_timeout: only a server that does not answer at all gets there. */
  static readonly ANSWER_TIMEOUT_MS = 12_000;
  readonly #answerTimeoutMs: number | undefined;

  constructor(config?: string | ClientConfig) {
    super(config);
    this.#answerTimeoutMs = typeof config === 'object' ? config.answerTimeoutMs : undefined;
    // Pool and typeorm listen by turns; a connection that dies between the two must not end the process.
    this.on('error', () => undefined);
  }

  // typeorm asks with (text, values); every other form passes through.
  override query(...args: unknown[]): never {
    const [text, values, ...rest] = args;
    const isPrepared =
      typeof text === 'string' && Array.isArray(values) && values.length > 0 && !ALL_COLUMNS.test(text);
    const form = isPrepared ? [{ name: nameOf(text), text, values }, ...rest] : args;
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

  /** Ends the connection without a word to the server. Waiting queries fail as after a lost connection. */
  #drop(reason: string): void {
    const { stream } = (this as unknown as { connection: { stream: Socket } }).connection;
    stream.destroy(new Error(`Connection terminated: ${reason}`));
  }
}

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
    names.set(text, name);
  }
  return name;
}
