import type pg from 'pg';
import { DataSource, QueryFailedError, type QueryRunner } from 'typeorm';

/**
 * Sends a statement outside of a transaction to the pool itself. typeorm's query runner, with its events and log, costs as
 * much time of this process as the statement.
 */
export class DirectDataSource extends DataSource {
  override async query<T>(text: string, values: unknown[] = [], runner?: QueryRunner): Promise<T> {
    if (runner !== undefined) return super.query<T>(text, values, runner);
    const { master: pool } = this.driver as unknown as { master: pg.Pool };
    const client = await pool.connect();
    try {
      return answerOf(await send(client, text, values)) as T;
    } finally {
      // The pool removes a client that has lost its connection.
      client.release();
    }
  }
}

/** @throws QueryFailedError */
export async function send(client: pg.ClientBase, text: string, values: unknown[] = []): Promise<pg.QueryResult> {
  try {
    return await client.query(text, values);
  } catch (error) {
    throw new QueryFailedError(text, values, error as Error);
  }
}

/** The rows; for UPDATE and DELETE also how many there were, as typeorm returns it. */
export function answerOf({ command, rows, rowCount }: pg.QueryResult): unknown {
  return command === 'UPDATE' || command === 'DELETE' ? [rows, rowCount] : rows;
}
