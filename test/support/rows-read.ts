import type { DataSource } from 'typeorm';

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

/** Runs queries, and returns their result with the number of rows that Postgres read for them. */
export async function countRowsRead<T>(
  db: DataSource,
  run: (db: DataSource) => Promise<T>,
): Promise<{ result: T; read: number }> {
  let read = 0;
  const explaining = Object.create(db) as DataSource;
  explaining.query = async <Rows>(text: string, values?: unknown[]): Promise<Rows> => {
    const [row] = await db.query<[{ 'QUERY PLAN': [{ Plan: Plan }] }]>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      values,
    );
    read += rowsOf(row['QUERY PLAN'][0].Plan);
    return db.query<Rows>(text, values);
  };
  return { result: await run(explaining), read };
}
