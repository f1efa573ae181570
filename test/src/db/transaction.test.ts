import { expect } from 'chai';
import { isDatabaseAway, savepoint, sqlState, transaction, write, writeLast } from '../../../src/db/transaction.js';
import { watchStatements, type Sent } from '../../support/round-trips.js';
import { useDatabase, usePool } from '../../support/use.js';

const INSERT = 'INSERT INTO notes (name) VALUES ($1)';

describe('a transaction', () => {
  const database = useDatabase();
  const db = usePool(database, 3, 'transactions');
  const single = usePool(database, 1);
  before(() => db.query('CREATE TABLE notes (name text PRIMARY KEY, n integer NOT NULL DEFAULT 0 CHECK (n < 5))'));
  beforeEach(() => db.query('DELETE FROM notes'));

  /** What this pool sends: a service that other files of this process use sends statements of its own. */
  const watchOwn = (onSent: (sent: Sent) => void): (() => void) =>
    watchStatements((one, pool) => {
      if (pool === 'transactions') onSent(one);
    });
  const names = async (): Promise<string[]> =>
    (await db.query<{ name: string }[]>('SELECT name FROM notes ORDER BY name')).map(({ name }) => name);
  const thrownBy = async (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((error) => error);

  it('a transaction takes two round trips for a read, and writes whose answers nothing depends on', async () => {
    const sent: Sent[] = [];
    const stop = watchOwn((one) => sent.push(one));
    try {
      await transaction(db, async (tx) => {
        await tx.query('SELECT 1');
        write(tx, INSERT, ['a']);
        write(tx, INSERT, ['b']);
      });
    } finally {
      stop();
    }
    expect(sent.map(({ text, beginsRoundTrip }) => [text, beginsRoundTrip])).to.deep.equal([
      ['BEGIN', true],
      ['SELECT 1', false],
      [INSERT, true],
      [INSERT, false],
      ['COMMIT', false],
    ]);
    expect(await names()).to.deep.equal(['a', 'b']);
  });

  it('a transaction fails with the first failure, whatever Postgres refuses after it', async () => {
    const atCommit = transaction(db, async (tx) => {
      write(tx, INSERT, ['a']);
      write(tx, INSERT, ['a']);
      write(tx, 'INSERT INTO notes (name, n) VALUES ($1, 9)', ['b']);
    });
    expect(sqlState(await thrownBy(atCommit))).to.equal('23505');
    const atRead = transaction(db, async (tx) => {
      write(tx, 'INSERT INTO notes (name, n) VALUES ($1, 9)', ['b']);
      await tx.query('SELECT 1');
    });
    expect(sqlState(await thrownBy(atRead))).to.equal('23514');
    const own = transaction(db, async (tx) => {
      write(tx, INSERT, ['c']);
      throw new Error('refused');
    });
    expect(await thrownBy(own)).to.have.property('message', 'refused');
    expect(await names()).to.deep.equal([]);
  });

  it('a transaction does not end as if it had committed when the failure of a statement was swallowed', async () => {
    const swallowed = transaction(db, async (tx) => {
      write(tx, INSERT, ['a']);
      await tx.query('SELECT 1 / 0').catch(() => undefined);
    });
    expect(await thrownBy(swallowed)).to.be.an('error');
    expect(await names()).to.deep.equal([]);
  });

  it('a transaction undoes a part alone, with what that part has not waited for', async () => {
    await transaction(db, async (tx) => {
      write(tx, INSERT, ['outer']);
      const refused = savepoint(tx, async () => {
        write(tx, INSERT, ['inner']);
        write(tx, INSERT, ['outer']);
      });
      expect(sqlState(await thrownBy(refused))).to.equal('23505');
      await savepoint(tx, async () => write(tx, INSERT, ['second']));
      write(tx, INSERT, ['after']);
    });
    expect(await names()).to.deep.equal(['after', 'outer', 'second']);
  });

  it('a transaction sends its last writes right before its end, and the end of a part, with an error of their own', async () => {
    const sent: string[] = [];
    const stop = watchOwn(({ text }) => sent.push(text));
    const refusal = (error: unknown): unknown => new Error(`full: ${sqlState(error)}`);
    try {
      const full = transaction(db, async (tx) => {
        writeLast(tx, 'INSERT INTO notes (name, n) VALUES ($1, 9)', ['last'], refusal);
        write(tx, INSERT, ['first']);
      });
      expect(await thrownBy(full)).to.have.property('message', 'full: 23514');
      await transaction(db, async (tx) => {
        const part = savepoint(tx, async () => writeLast(tx, 'SELECT 1 / $1::integer', [0], refusal));
        expect(await thrownBy(part)).to.have.property('message', 'full: 22012');
        write(tx, INSERT, ['kept']);
      });
    } finally {
      stop();
    }
    expect(sent.slice(0, 4)).to.deep.equal(['BEGIN', INSERT, 'INSERT INTO notes (name, n) VALUES ($1, 9)', 'COMMIT']);
    expect(await names()).to.deep.equal(['kept']);
  });

  it('a transaction runs again from its start after a deadlock', async () => {
    await db.query(`INSERT INTO notes (name) VALUES ('a'), ('b')`);
    const UPDATE = 'UPDATE notes SET n = n + 1 WHERE name = $1';
    let meet: () => void = () => undefined;
    const both = new Promise<void>((resolve) => (meet = resolve));
    let waiting = 0;
    let runs = 0;
    const inOrder = (first: string, second: string): Promise<void> =>
      transaction(db, async (tx) => {
        runs += 1;
        await tx.query(UPDATE, [first]);
        if ((waiting += 1) === 2) meet();
        await both;
        write(tx, UPDATE, [second]);
      });
    await Promise.all([inOrder('a', 'b'), inOrder('b', 'a')]);
    expect(runs).to.be.above(2);
    expect(await db.query('SELECT DISTINCT n FROM notes')).to.deep.equal([{ n: 2 }]);
  });

  it('a transaction whose connection is lost says that Postgres is away, and leaves the pool a new connection', async () => {
    const lost = transaction(single, async (tx) => {
      const [{ pid }] = await tx.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
      await db.query('SELECT pg_terminate_backend($1)', [pid]);
      write(tx, INSERT, ['a']);
    });
    expect(isDatabaseAway(await thrownBy(lost))).to.equal(true);
    await transaction(single, async (tx) => write(tx, INSERT, ['b']));
    expect(await names()).to.deep.equal(['b']);
  });

  it('a transaction leaves its connection usable by a statement that Postgres first got behind a failure', async () => {
    const fresh = 'INSERT INTO notes (name, n) VALUES ($1, 1 + 1)';
    const failed = transaction(single, async (tx) => {
      write(tx, 'SELECT 1 / $1::integer', [0]);
      write(tx, fresh, ['a']);
      write(tx, fresh, ['b']);
    });
    expect(sqlState(await thrownBy(failed))).to.equal('22012');
    await transaction(single, async (tx) => {
      write(tx, fresh, ['c']);
      write(tx, fresh, ['d']);
    });
    expect(await names()).to.deep.equal(['c', 'd']);
  });

  it('a transaction is one for the queries that typeorm builds, too', async () => {
    await db.query(`INSERT INTO projects (id, name) VALUES ('prj_1', 'demo')`);
    const work = transaction(db, async (tx) => {
      write(tx, `UPDATE projects SET name = $1`, ['written']);
      const query = tx.createQueryBuilder().select('name').from('projects', 'p');
      expect(await query.setLock('pessimistic_write').getRawOne()).to.deep.equal({ name: 'written' });
      throw new Error('undone');
    });
    expect(await thrownBy(work)).to.have.property('message', 'undone');
    expect(await db.query('SELECT name FROM projects')).to.deep.equal([{ name: 'demo' }]);
  });

  it('a transaction takes no write after its end', async () => {
    let late: (() => void) | undefined;
    await transaction(db, async (tx) => void (late = () => write(tx, INSERT, ['late'])));
    expect(late).to.throw('outside of a transaction');
  });
});
