import { expect } from 'chai';
import { deleteDeadTokenStreams, TokenStreams, type TokenSlot } from '../../../src/stream/token-streams.js';
import { eventually } from '../../support/eventually.js';
import { useDatabase, usePool } from '../../support/use.js';

describe('the streams of tokens of all processes', () => {
  const database = useDatabase();
  const db = usePool(database, 4);
  const background = usePool(database, 1);
  const processes: TokenStreams[] = [];
  after(() => Promise.all(processes.map((each) => each.close())));

  const startProcess = (): TokenStreams => {
    const started = new TokenStreams(db, background);
    processes.push(started);
    return started;
  };
  const takeAll = async (from: TokenStreams, sessionId: string, count: number): Promise<TokenSlot[]> => {
    const taken = await Promise.all(Array.from({ length: count }, () => from.take(sessionId)));
    return taken.filter((slot) => slot !== null);
  };
  const rowsOf = (sessionId: string): Promise<unknown[]> =>
    db.query('SELECT FROM token_streams WHERE session_id = $1', [sessionId]);

  it('streams of tokens of all processes are ten for a session, however many open at once', async () => {
    const [one, other] = [startProcess(), startProcess()];
    const taken = await Promise.all([takeAll(one, 's1', 15), takeAll(other, 's1', 15)]);
    expect(taken.flat()).to.have.length(10);
    expect(await rowsOf('s1')).to.have.length(10);
    expect(await other.take('s2')).not.to.equal(null);
  });

  it('streams of tokens of all processes give their slots back when they end, and all when their process closes', async () => {
    const [one, other] = [startProcess(), startProcess()];
    const [first] = await takeAll(one, 's3', 10);
    one.giveBack(first!);
    await eventually('the slot is free', async () => (await other.take('s3')) !== null);
    expect(await other.take('s3')).to.equal(null);
    await one.close();
    expect(await takeAll(other, 's3', 10)).to.have.length(9);
  });

  it('streams of tokens of all processes keep a slot for a retry if it cannot be given back', async () => {
    const own = startProcess();
    const slot = (await own.take('s4'))!;
    await background.query(`SET lock_timeout = '20ms'`);
    const lock = db.createQueryRunner();
    await lock.startTransaction();
    await lock.query(`SELECT FROM token_streams WHERE session_id = 's4' FOR UPDATE`);
    own.giveBack(slot);
    // On the same connection, after the attempt.
    await background.query('SELECT 1');
    await lock.rollbackTransaction();
    await lock.release();
    expect(await rowsOf('s4')).to.have.length(1);
    await eventually('the retry gives it back', async () => {
      own.retry();
      return (await rowsOf('s4')).length === 0;
    });
  });

  it('streams of tokens of all processes leave the slots of a dead process to the next stream, and rounds delete the rest', async () => {
    const die = async (name: string, sessions: string[], ago: string): Promise<void> => {
      await db.query(
        `INSERT INTO leases (name, holder, until) VALUES ('token streams of ' || $1::text, $1, now() - $2::interval)`,
        [name, ago],
      );
      await db.query(
        `INSERT INTO token_streams SELECT s, n, s || n, 'token streams of ' || $1 FROM unnest($2::text[]) s, generate_series(1, 10) n`,
        [name, sessions],
      );
    };
    await die('dead', ['s5', 's6'], '1 second');
    await deleteDeadTokenStreams(db);
    expect(await rowsOf('s6'), 'it may be Postgres that was away').to.have.length(10);
    expect(await takeAll(startProcess(), 's5', 11)).to.have.length(10);
    expect(await rowsOf('s6')).to.have.length(0);
    await die('long dead', ['s7'], '2 minutes');
    await deleteDeadTokenStreams(db);
    expect(await rowsOf('s7')).to.have.length(0);
    expect(await rowsOf('s5')).to.have.length(10);
  });
});
