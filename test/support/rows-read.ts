import type { Database } from '../../src/db/db.js';

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

/** Rows that all nodes of a plan read together. */
function rowsOf(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  const own = (plan['Actual Rows'] + removed) * plan['Actual Loops'];
  return (plan.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), own);
}

/** Runs a query for its plan, and takes back what it wrote. */
async function planOf(db: Database, text: string, values?: unknown[]): Promise<Plan> {
  const runner = db.createQueryRunner();
  try {
    await runner.startTransaction();
    const explained: unknown = await runner.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
    return (explained as [{ 'QUERY PLAN': [{ Plan: Plan }] }])[0]['QUERY PLAN'][0].Plan;
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

/** Runs queries, also those that write, and returns their result with the number of rows that Postgres read for them. */
export async function countRowsRead<T>(
  db: Database,
  run: (db: Database) => Promise<T>,
): Promise<{ result: T; read: number }> {
  let read = 0;
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    read += rowsOf(await planOf(db, text, values));
    return db.query(text, values);
  };
  const explaining = new Proxy(db, {
    get: (target, name, receiver) => (name === 'query' ? query : Reflect.get(target, name, receiver)) as unknown,
  });
  return { result: await run(explaining), read };
}
