import { expect } from 'chai';
import { openDataSource } from '../../../src/db/data-source.js';
import { forgetOldAnswers } from '../../../src/projects/idempotency.js';
import { createTestDatabase } from '../../support/postgres.js';

describe('the clean-up of idempotency records', () => {
  it('the clean-up of idempotency records finds old records by their index', async () => {
    const database = await createTestDatabase();
    // One connection: it reports its own statistics.
    const db = await openDataSource(database.url, 1, 'test');
    try {
      await db.query(
        `INSERT INTO idempotency_records (project_id, path, key, request_hash, created_at, status, response)
         SELECT 'p', '/', n::text, '', now() - CASE WHEN n <= 30 THEN interval '2 days' ELSE '1 hour' END, 201, '{}'
         FROM generate_series(1, 20000) AS n`,
      );
      await db.query('ANALYZE idempotency_records');
      expect(await forgetOldAnswers(db, 20)).to.equal(20);
      expect(await forgetOldAnswers(db, 20)).to.equal(10);
      expect(await forgetOldAnswers(db, 20)).to.equal(0);
      await db.query('SELECT pg_stat_force_next_flush()');
      const [scans] = await db.query(
        `SELECT idx_scan::integer AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'idempotency_records_age'`,
      );
      expect(scans).to.deep.equal({ scans: 3 });
    } finally {
      await db.destroy();
      await database.drop();
    }
  });
});
