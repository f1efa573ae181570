import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { CheckError, runCheck, type Check } from '../../ops/doctor/check.js';
import { withDoctorsDatabase } from '../../ops/doctor/database.js';
import { diagnose, formatFinding, formatFindings } from '../../ops/doctor/diagnose.js';
import { listens, replication } from '../../ops/doctor/postgres.js';
import { useDatabase } from '../support/use.js';

const never = (): Promise<string> => new Promise(() => undefined);
const fails = (error: Error) => (): Promise<string> => Promise.reject(error);
const check = (run: Check['run']): Check => ({ part: 'postgres', remedy: 'Check the password.', run });
/** A check whose tries go like this. */
const tries = (...runs: Check['run'][]): { asked: () => number; check: Check } => {
  let asked = 0;
  return { asked: () => asked, check: check(() => runs[asked++]!()) };
};
const LIMITS = [5, 20] as const;

describe('a check of doctor', () => {
  it('a check of doctor that gets no answer in time is made once more, and its failure names no password', async () => {
    const { asked, check: late } = tries(never, never);
    const { ok, detail, remedy } = await runCheck(late, LIMITS);
    expect([ok, asked()]).to.deep.equal([false, 2]);
    expect(detail).to.equal('no answer within 0.005 s, and none within 0.02 s at a second try');
    expect(remedy).to.match(
      /^A time-out is no refusal\. Look at the load .+ If nothing is slow: Check the password\.$/,
    );
  });

  it('a check of doctor that is slow passes at the second try, and says so', async () => {
    const { check: slow } = tries(never, async () => 'Postgres 18');
    const finding = await runCheck(slow, LIMITS);
    expect(finding).to.deep.include({ ok: true, remedy: null });
    expect(finding.detail).to.equal('Postgres 18 (slow: the first try had no answer within 0.005 s)');
  });

  it('a check of doctor takes the time-outs of sockets, statements, requests and Temporal for what they are', async () => {
    const timeouts = [
      Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' }),
      new Error('away', { cause: Object.assign(new Error('canceling statement'), { code: '57014' }) }),
      new DOMException('late', 'TimeoutError'),
      new Error('failed', { cause: Object.assign(new Error('deadline'), { code: 4 }) }),
      new AggregateError([Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' })]),
    ];
    for (const error of timeouts) {
      const { asked, check: once } = tries(fails(error), async () => 'ok');
      expect((await runCheck(once)).ok, error.message).to.equal(true);
      expect(asked(), error.message).to.equal(2);
    }
  });

  it('a check of doctor that is refused fails at once, with its own remedy', async () => {
    const refused = Object.assign(new Error('password authentication failed'), { code: '28P01' });
    const { asked, check: wrong } = tries(fails(refused));
    expect(await runCheck(wrong)).to.include({ ok: false, remedy: 'Check the password.' });
    expect(asked()).to.equal(1);
    expect(await runCheck(check(fails(new CheckError('stale', 'Migrate.'))))).to.include({ remedy: 'Migrate.' });
  });

  it('the checks of doctor show each finding when it is known', async () => {
    const shown: string[] = [];
    const findings = await diagnose({ MAX_STEPS: 'many' }, (finding, width) =>
      shown.push(formatFinding(finding, width)),
    );
    expect(shown).to.not.be.empty;
    expect(formatFindings(findings).startsWith(shown.join(''))).to.equal(true);
  });
});

describe('the database of doctor', () => {
  const database = useDatabase();

  it('the database of doctor is told apart from one that cannot be reached if all connections are taken', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`CREATE ROLE full_role LOGIN PASSWORD 'full' CONNECTION LIMIT 0`);
    try {
      const url = new URL(database.url);
      Object.assign(url, { username: 'full_role', password: 'full' });
      const error = await withDoctorsDatabase(url.href, async () => 'in').catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(CheckError);
      expect(error)
        .to.have.property('message')
        .that.matches(/^all connections of Postgres are taken: too many connections/);
      expect(error).to.have.property('remedy').that.contains('runbook.md#connectionsrunout');
    } finally {
      await client.query('DROP ROLE full_role');
      await client.end();
    }
  });
});

describe('the check of notifications', () => {
  const database = useDatabase();

  it('the check of notifications waits for a slow Postgres, and finds a connection that passes none on', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    /** Longer than the time for the notification, which counts from the answer. */
    const slow = async (sql: string, values?: unknown[]): Promise<unknown> => {
      await sleep(1_100);
      return client.query(sql, values);
    };
    const check = (query: typeof slow, ms: number): Promise<string> =>
      listens(database.url, { query } as Parameters<typeof listens>[1], ms);
    expect(await check(slow, 1_000)).to.match(/^a notification took \d+ ms$/);
    const error = await check(async () => undefined, 10).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(CheckError).with.property('message', 'a notification did not arrive within 0.01 s');
    await client.end();
  });
});

describe('the check of the replication', () => {
  const database = useDatabase();

  it('the check of the replication fails if commits wait for a standby that is not there', async () => {
    const primary = { standby: false, names: '*', commit: 'on', standbys: 1, synchronous: 1 };
    const of = (row: object): Promise<string> => replication({ query: async () => [{ ...primary, ...row }] as never });
    expect(await of({})).to.equal('commits wait for a standby (*, synchronous_commit on)');
    // After a promotion, with the setting that came with the files of the old primary.
    const hangs = await of({ standbys: 0, synchronous: 0 }).catch((error: unknown) => error);
    expect(hangs).to.be.instanceOf(CheckError);
    expect(hangs).to.have.property('message', 'every commit waits for a standby (*), and none is there');
    expect(await of({ synchronous: 0, commit: 'local' })).to.match(/^commits wait/);
    expect(await of({ names: '', synchronous: 0 })).to.match(/^1 asynchronous standbys/);
  });

  it('the check of the replication reads a server without a standby', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const query = async (sql: string): Promise<never> => (await client.query(sql)).rows as never;
    expect(await replication({ query })).to.match(/^no standby that this server streams to/);
    await client.end();
  });
});
