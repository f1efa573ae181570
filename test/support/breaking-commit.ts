import type pg from 'pg';
import type { Database, QueryRunner } from '../../src/db/db.js';

/** The same pool, whose connections break at the end of a transaction: after Postgres has committed it, or before. */
export function breakingAtCommit(db: Database, isCommitted: boolean): Database {
  const createQueryRunner = (): QueryRunner => {
    const runner = db.createQueryRunner();
    const connect = runner.connect.bind(runner) as () => Promise<pg.PoolClient>;
    runner.connect = async () => breaking(await connect(), isCommitted);
    return runner;
  };
  return new Proxy(db, {
    get: (target, name) => (name === 'createQueryRunner' ? createQueryRunner : Reflect.get(target, name)) as unknown,
  });
}

function breaking(client: pg.PoolClient, isCommitted: boolean): pg.PoolClient {
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    if (text !== 'COMMIT') return client.query(text, values);
    if (isCommitted) await client.query(text);
    throw new Error('Connection terminated unexpectedly');
  };
  return new Proxy(client, {
    get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)) as unknown,
  });
}
