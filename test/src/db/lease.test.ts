import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDataSource } from '../../../src/db/data-source.js';
import { Lease } from '../../../src/db/lease.js';
import { useDatabase, usePool } from '../../support/use.js';

describe('a lease that another process holds', () => {
  const database = useDatabase();
  const db = usePool(database, 2);

  it('a lease that another process holds is only read by those that wait for it: hundreds would wait for each other’s lock on its row', async () => {
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
