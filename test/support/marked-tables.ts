import type { Database } from '../../src/db/db.js';

/** The columns of all tables that can have a text, as `table.column`. Each partition of deltas is a table of its own. */
async function columnsOf(db: Database): Promise<{ table: string; column: string }[]> {
  return db.query(
    `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
     JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
       AND data_type IN ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY', 'USER-DEFINED')`,
  );
}

/** Where a text is in the tables, in bytes and JSON, too: `table.column`, sorted. */
export async function markedColumns(db: Database, mark: string): Promise<string[]> {
  const places = new Set<string>();
  const columns = await columnsOf(db);
  if (columns.length < 200) throw new Error('columns of tables are missing');
  for (const { table, column } of columns) {
    const [found] = await db.query<unknown[]>(
      `SELECT 1 FROM "${table}" WHERE position($1 IN "${column}"::text) > 0 OR position($2 IN "${column}"::text) > 0 LIMIT 1`,
      [mark, Buffer.from(mark).toString('hex')],
    );
    if (found !== undefined) places.add(`${table.replace(/^(deltas)_.*/, '$1')}.${column}`);
  }
  return [...places].sort();
}
