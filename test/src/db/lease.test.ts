import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { openDataSource } from '../../../src/db/data-source.js';
import { Lease } from '../../../src/db/lease.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';

describe('a lease that another process holds', () => {
  let database: TestDatabase;
  let db: DataSource;
  before(async () => {
    database = await createTestDatabase();
    db = await openDataSource(database.url, 2, 'test');
  });
  after(async () => {
    await db.destroy();
    await database.drop();
  });

  it('is only read by those that wait for it: hundreds would wait for each other’s lock on its row', async () => {
    await db.query(
      `INSERT INTO leases (name, holder, since, until) VALUES ('led', 'a', now(), now() + interval '1 minute')`,
    );
    const lock = db.createQueryRunner();
    await lock.startTransaction();
    await lock.query(`SELECT FROM leases WHERE name = 'led' FOR UPDATE`);
    const single = await openDataSource(database.url, 1, 'test');
    const lease = new Lease(single, { name: 'led', holder: 'b', durationMs: 2500, intervalMs: 60_000 });
    // On the same connection, after the lease was asked for.
    const isAnswered = single.query('SELECT 1').then(() => true);
    expect(await Promise.race([isAnswered, sleep(3000, false, { ref: false })])).to.equal(true);
    expect(lease.isHeld).to.equal(false);
    await lock.rollbackTransaction();
    await lock.release();
    await lease.release();
    await single.destroy();
  });
});
