import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { openDataSource } from '../../../src/db/data-source.js';
import { migrate } from '../../../src/db/migrate.js';
import { readMigration } from '../../../src/db/migrations/index.js';
import { missingMigrations } from '../../../src/db/schema-version.js';
import { SESSION_ROW_BYTES } from '../../../src/sessions/row-bytes.js';
import { rawSql, runSql, sql } from '../../../src/db/sql.js';
import { foldCase } from '../../../src/platform/fold-case.js';
import { restoreEarlier } from '../../support/earlier-database.js';
import { failureOf } from '../../support/failure.js';
import { migrationTitles } from '../../support/migration-titles.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { schemaObjects } from '../../support/schema-objects.js';

const OPEN_TURN = `INSERT INTO public.open_turns (turn_id, session_id, project_id, namespace)
  SELECT id, session_id, project_id, 'default' FROM public.turns LIMIT 1`;

describe('a database of before 1.0.0', () => {
  const opened: { database: TestDatabase; db: DataSource }[] = [];
  const open = async (database: TestDatabase): Promise<DataSource> => {
    const db = await openDataSource(database.url, 1, 'test');
    opened.push({ database, db });
    return db;
  };
  const urlOf = (db: DataSource): string => opened.find((one) => one.db === db)!.database.url;
  afterEach(async () => {
    for (const { database, db } of opened.splice(0)) {
      await db.destroy();
      await database.drop();
    }
  });

  it('a database of before 1.0.0 gets the schema of a new database, object by object', async () => {
    const [earlier, fresh] = [await open(await restoreEarlier()), await open(await createTestDatabase())];
    expect(await missingMigrations(earlier)).to.deep.equal(migrationTitles.map((title) => `${title}.sql`));
    expect(await migrate(urlOf(earlier))).to.deep.equal(migrationTitles);
    expect(await migrate(urlOf(earlier))).to.deep.equal([]);
    expect(await schemaObjects(earlier)).to.deep.equal(await schemaObjects(fresh));
    const recorded = 'SELECT timestamp, name FROM migrations';
    expect(await earlier.query(recorded)).to.deep.equal(await fresh.query(recorded));
  });

  it('a database of before 1.0.0 has the bytes of its rows counted, previews folded and usage marked', async () => {
    const db = await open(await restoreEarlier());
    await migrate(urlOf(db));
    const wrong = await runSql(
      db,
      sql`SELECT sessions.id FROM sessions JOIN session_states s ON session_id = sessions.id
            JOIN configurations c ON c.id = configuration_id
          WHERE s.row_bytes <> ${rawSql(SESSION_ROW_BYTES)} + row_bytes_of_turns(sessions.id, 1, turn_count)`,
    );
    expect(wrong).to.deep.equal([]);
    const sessions = await db.query<{ preview: string; preview_folded: string; state_folded: string }[]>(
      `SELECT preview, s.preview_folded, t.preview_folded AS state_folded FROM sessions s JOIN session_states t ON session_id = id
       WHERE preview IS NOT NULL`,
    );
    expect(sessions.map(({ preview }) => preview)).to.include('First message: Straße İstanbul');
    for (const { preview, ...folded } of sessions) {
      expect(folded).to.deep.equal({ preview_folded: foldCase(preview), state_folded: foldCase(preview) });
    }
    const [{ turns, marked }] = await db.query<[{ turns: number; marked: number }]>(
      'SELECT count(DISTINCT turn_id)::integer AS turns, (count(*) FILTER (WHERE is_first))::integer AS marked FROM turn_usage',
    );
    expect(marked).to.equal(turns).and.to.be.above(20);
  });

  it('a database of before 1.0.0 with an open turn is refused, and stays as it was', async () => {
    const db = await open(await restoreEarlier(OPEN_TURN));
    const before = await schemaObjects(db);
    const { message } = await failureOf(migrate(urlOf(db)));
    expect(message).to.equal(
      'This database is of a version before 1.0.0 and has open turns (1), which this version cannot go on with. Start the version ' +
        'that made it, let the turns end or cancel them, stop all its processes, and migrate again.',
    );
    expect(await schemaObjects(db)).to.deep.equal(before);
    await db.query('DELETE FROM open_turns');
    expect(await migrate(urlOf(db))).to.deep.equal(migrationTitles);
  });

  it('a database of before 1.0.0 is taken over whole or not at all', async () => {
    const db = await open(await restoreEarlier('CREATE TABLE public.token_streams ()'));
    const before = await schemaObjects(db);
    expect((await failureOf(migrate(urlOf(db)))).message).to.match(/relation "token_streams" already exists/);
    expect(await schemaObjects(db)).to.deep.equal(before);
    await db.query('DROP TABLE token_streams');
    expect(await migrate(urlOf(db))).to.deep.equal(migrationTitles);
  });

  it('a database of before 1.0.0 goes on after its last migration', async () => {
    const db = await open(await restoreEarlier());
    // As the build of migration 18 left it.
    const sections = readMigration('adopt.sql').split(/^(?=-- \d+ )/m);
    expect(sections.slice(1).map((text) => Number.parseInt(text.slice(3), 10))).to.deep.equal([
      ...[17, 18, 19, 20, 21, 22, 23, 24, 26, 27],
    ]);
    const runner = db.createQueryRunner();
    for (const text of sections.slice(1, 3)) await runner.query(text);
    await runner.release();
    await db.query(`INSERT INTO migrations (timestamp, name) VALUES (1800000000018, 'LeftOutTools1800000000018')`);
    expect(await migrate(urlOf(db))).to.deep.equal(migrationTitles);
    expect(await schemaObjects(db)).to.deep.equal(await schemaObjects(await open(await createTestDatabase())));
  });
});
