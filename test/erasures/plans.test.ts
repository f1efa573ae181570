import { expect } from 'chai';
import { openDataSource } from '../../src/db/data-source.js';
import type { Database } from '../../src/db/db.js';
import { eraseStep, type EraseDeps } from '../../src/erasures/erase.js';
import { beginErasure, findErasure } from '../../src/erasures/store.js';
import { createKey } from '../../src/projects/api-keys.js';
import { eventually } from '../support/eventually.js';
import { insertEndedTurns, insertSessions } from '../support/factories.js';
import { useDatabase, usePool } from '../support/use.js';

const OTHERS = 4000;
/** In the order of their names. */
const TABLES = ['events', 'files', 'idempotency_records', 'sessions', 'turn_usage', 'turns'];

/** docs/memory.md "Erasing a person": nobody else notices it. */
describe('the statements of an erasure', function () {
  this.timeout(60_000);
  const database = useDatabase();
  const db = usePool(database, 2);

  /** How many rows of each table were read, with an index or without. */
  const readRows = async (): Promise<number[]> =>
    (
      await db.query<{ rows: number }[]>(
        `SELECT (seq_tup_read + idx_tup_fetch)::integer AS rows FROM pg_stat_user_tables WHERE relname = ANY($1) ORDER BY relname`,
        [TABLES],
      )
    ).map(({ rows }) => rows);
  /** Postgres has counted what a connection read when it is closed. */
  const counted = async (work: (own: Database) => Promise<void>): Promise<void> => {
    const own = await openDataSource(database.url, 2, 'own');
    try {
      await work(own);
    } finally {
      await own.destroy();
    }
    await eventually('its connections are gone', async () => {
      const left = await db.query<unknown[]>(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
           AND application_name <> current_setting('application_name')`,
      );
      return left.length === 0;
    });
  };

  it('the statements of an erasure read the rows of the person alone, beside many of others', async () => {
    let project = '';
    let mine: string[] = [];
    await counted(async (own) => {
      project = (await createKey(own, { project: 'demo' })).projectId;
      const other = (await createKey(own, { project: 'others' })).projectId;
      mine = await insertSessions(own, project, 40);
      await insertEndedTurns(own, mine[0]!, { count: 2, results: 1 });
      await own.query(`UPDATE sessions SET end_user = 'jane' WHERE id = ANY($1)`, [mine]);
      const theirs = await insertSessions(own, other, OTHERS);
      for (const id of theirs.slice(0, OTHERS / 100)) await insertEndedTurns(own, id, { count: 100, results: 0 });
      await own.query(`UPDATE sessions SET end_user = 'joe', deleted_at = now() WHERE id = ANY($1)`, [
        theirs.slice(OTHERS / 2),
      ]);
      await own.query(
        `INSERT INTO files (id, project_id, filename, mime_type, size_bytes, origin, session_id, storage_key, deleted_at)
         SELECT 'file_' || id, project_id, 'a', 'text/plain', 1, 'OUTPUT', id, id, CASE WHEN id > $1 THEN now() END FROM sessions`,
        [mine[20]],
      );
      await own.query(
        `INSERT INTO idempotency_records (project_id, path, key, request_hash, resource_id)
         SELECT project_id, '/', id, ''::bytea, id FROM sessions`,
      );
      await own.query('ANALYZE');
    });
    const before = await readRows();
    await counted(async (own) => {
      const { erasure } = await beginErasure(own, project, 'jane', true, async () => undefined);
      const storage = { async *list() {}, delete: async () => undefined };
      const deps = { db: own, storage } as unknown as EraseDeps;
      for (let nextMs: number | null = 0; nextMs !== null;)
        ({ nextMs } = await eraseStep(deps, erasure.id, 1000, new AbortController().signal));
      expect(await findErasure(own, project, erasure.id)).to.include({ sessions: 40 });
    });
    const read = (await readRows()).map((rows, index) => rows - before[index]!);
    // A statement for each session that read the rows of others would read a hundred times as many.
    for (const [index, rows] of read.entries()) expect(rows, TABLES[index]).to.be.below(OTHERS);
    expect(await db.query('SELECT FROM sessions WHERE id = ANY($1)', [mine])).to.deep.equal([]);
    expect(await db.query('SELECT FROM files WHERE session_id = ANY($1)', [mine])).to.deep.equal([]);
  });
});
