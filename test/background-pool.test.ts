import { expect } from 'chai';
import { TEST_MODEL } from './support/config.js';
import { eventually } from './support/eventually.js';
import { useService } from './support/use.js';

/** Requests that hold all connections of a process must not cost it the lead, and so stop what the leader does. */
describe('the connections for background work', () => {
  const service = useService({ config: { databasePoolSize: 2 } });

  interface LeaseState {
    since: string;
    has_held: boolean;
  }
  const lease = async (until: string): Promise<LeaseState | undefined> => {
    const rows = await service.db.query<LeaseState[]>(
      `SELECT since::text, until > $1::timestamptz AS has_held FROM leases WHERE name LIKE 'reconciler:%'`,
      [until],
    );
    return rows[0];
  };

  it('the connections for background work let the leader keep its lease while requests wait for locks on all others', async () => {
    await eventually('the process leads', async () => (await lease('-infinity')) !== undefined);
    const { since } = (await lease('-infinity'))!;
    const blocker = service.db.createQueryRunner();
    await blocker.startTransaction();
    // It waits for longer than the service lets a transaction.
    await blocker.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await blocker.query('LOCK TABLE session_states IN ACCESS EXCLUSIVE MODE');
    const other = service.as(await service.newKey({ project: 'other' }));
    const requests = Array.from({ length: 8 }, (_, n) =>
      (n % 2 === 0 ? service.api : other)('POST', '/v1/sessions', { model_id: TEST_MODEL.id }),
    );
    await eventually('all connections wait', async () => {
      const [row] = await service.db.query<{ waiting: number }[]>(
        `SELECT count(*)::integer AS waiting FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'api' AND wait_event_type = 'Lock'`,
      );
      return row!.waiting === 2;
    });
    const [{ at }] = await service.db.query<[{ at: string }]>(
      `SELECT (clock_timestamp() + interval '6 s')::text AS at`,
    );
    await eventually('the lease was renewed meanwhile', async () => (await lease(at))?.has_held === true);
    const held = await lease(at);
    await blocker.rollbackTransaction();
    await blocker.release();
    await Promise.all(requests);
    expect(held!.since, 'held without a gap').to.equal(since);
  });
});
