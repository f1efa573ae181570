import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { createKey, revokeKey } from '../../../src/projects/api-keys.js';
import { transaction } from '../../../src/db/transaction.js';
import { eventually } from '../../support/eventually.js';
import { useService } from '../../support/use.js';

describe('requests with keys that were never issued', () => {
  const service = useService({ config: { databasePoolSize: 4 } });

  const randomKey = (): string => `ask_${randomBytes(32).toString('base64url')}`;
  const statusOf = async (key: string): Promise<number> => (await service.as(key)('GET', '/v1/sessions')).status;
  const waiting = async (): Promise<number> => {
    const [row] = await service.db.query<[{ count: number }]>(
      `SELECT count(*)::int FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'api' AND wait_event_type = 'Lock'`,
    );
    return row.count;
  };

  it('requests with keys that were never issued leave connections for the requests of others', async () => {
    let unknown: Promise<number[]> | undefined;
    await transaction(service.db, async (tx) => {
      expect(await statusOf(service.key)).to.equal(200);
      // Every look for a key waits now.
      await tx.query('LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE');
      unknown = Promise.all(Array.from({ length: 50 }, () => statusOf(randomKey())));
      await eventually('they wait', async () => (await waiting()) === 2);
      expect(await statusOf(service.key)).to.equal(200);
      expect(await waiting()).to.equal(2);
    });
    expect(new Set(await unknown)).to.deep.equal(new Set([401]));
  });

  it('requests with keys that were never issued do not keep a key from being used once it is issued', async () => {
    const { key, id } = await createKey(service.db, { project: 'demo' });
    expect(await statusOf(key)).to.equal(200);
    await revokeKey(service.db, id);
    await eventually('it is refused', async () => (await statusOf(key)) === 401);
    await service.db.query('UPDATE api_keys SET revoked_at = NULL WHERE id = $1', [id]);
    await eventually('it is accepted', async () => (await statusOf(key)) === 200);
  });
});
