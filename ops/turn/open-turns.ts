import type { Db } from '../../src/db/db.js';
import { runSql, sql } from '../../src/db/sql.js';
import { temporalSettings } from '../../src/temporal/connection.js';

/** Open turns of this Temporal namespace, those without progress for the longest time first. */
export async function readOpenTurns(db: Db, limit: number): Promise<{ ids: string[]; all: number }> {
  const { namespace } = temporalSettings();
  const rows = await runSql<{ id: string }>(
    db,
    sql`SELECT t.id FROM open_turns o JOIN turns t ON t.id = o.turn_id
        WHERE o.namespace = ${namespace} ORDER BY t.progress_at, t.id LIMIT ${limit}`,
  );
  const [{ n }] = (await runSql<{ n: number }>(
    db,
    sql`SELECT count(*)::integer AS n FROM open_turns WHERE namespace = ${namespace}`,
  )) as [{ n: number }];
  return { ids: rows.map(({ id }) => id), all: n };
}
