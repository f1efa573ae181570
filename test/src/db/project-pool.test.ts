import { expect } from 'chai';
import type { PoolClient } from 'pg';
import { BatchLookup } from '../../../src/db/batch-lookup.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { ProjectEntity } from '../../../src/db/entities/projects.js';
import { asProcess, asProject, ProjectPool, ProjectShareError } from '../../../src/db/project-pool.js';
import { isDatabaseBusy, transaction } from '../../../src/db/transaction.js';
import { Notifier } from '../../../src/stream/notify.js';
import { startWork } from '../../support/held-connections.js';
import { testLogger } from '../../support/log.js';
import { use, useDatabase } from '../../support/use.js';

/** Of four connections, so that a share has two. */
describe('the share of a project in the connections to Postgres', () => {
  const database = useDatabase();
  const db = use(
    () => openDataSource(database.url, 4, 'test', 'service', 60_000),
    (opened) => opened.destroy(),
  );
  /** What waits for a share gives up soon. */
  const impatient = use(
    async () => new ProjectPool({ connectionString: database.url, max: 4, connectionTimeoutMillis: 60_000 }, 100),
    (pool) => pool.end(),
  );
  const work = startWork();
  afterEach(() => work.end());

  const hold = (project: string): Promise<void> => work.hold(db, project);
  const ask = (project: string): Promise<unknown> => asProject(project, () => db.query('SELECT 1'));
  const take = (project: string): Promise<PoolClient> => asProject(project, () => impatient.connect());
  const refusal = (answer: Promise<unknown>): Promise<unknown> => answer.then(() => null).catch((error) => error);

  it('a project uses half of the connections and waits for its own work; another project does not wait', async () => {
    await Promise.all([hold('a'), hold('a')]);
    let answered = 0;
    const waiting = [
      ask('a'),
      asProject('a', () => transaction(db, (tx) => tx.query('SELECT 1'))),
      asProject('a', () => db.getRepository(ProjectEntity).findOneBy({ id: 'none' })),
    ].map((answer) => answer.then(() => (answered += 1)));
    await ask('b');
    await Promise.all([hold('b'), ask('b')]);
    await asProcess(() => db.query('SELECT 1'));
    expect(answered).to.equal(0);
    work.endOne();
    await Promise.all(waiting);
  });

  it('a project that has waited too long for its share is refused; if nothing moves, Postgres is busy', async () => {
    const held = await Promise.all([take('a'), take('a'), take('b')]);
    const stuck = await refusal(take('a'));
    expect(stuck).to.be.instanceOf(Error).and.not.instanceOf(ProjectShareError);
    expect(isDatabaseBusy(stuck)).to.equal(true);
    const refused = refusal(take('a'));
    held.pop()!.release();
    expect(await refused).to.be.instanceOf(ProjectShareError);
    // Nothing is left of those that gave up.
    for (const client of held) client.release();
    (await take('a')).release();
  });

  it('a project that finds all connections in use by others is not told that it is its own work', async () => {
    const held = await Promise.all(['a', 'a', 'b', 'c'].map(take));
    expect(await refusal(take('d')))
      .to.be.instanceOf(Error)
      .and.not.instanceOf(ProjectShareError);
    for (const client of held) client.release();
  });

  it('work that a project begins for others too does not wait for its share', async () => {
    await Promise.all([hold('a'), hold('a')]);
    const lookup = new BatchLookup<true>(async (ids) => {
      await db.query('SELECT 1');
      return new Map(ids.map((id) => [id, true]));
    });
    expect(await asProject('a', () => lookup.lookUp('x'))).to.equal(true);
    const notifier = new Notifier(db, testLogger());
    asProject('a', () => notifier.send('turn_events_0', 'x y []'));
    await notifier.flush();
  });

  it('a connection that cannot be opened leaves its place to the next one', async () => {
    // Nothing listens there. The share is one connection.
    const away = new ProjectPool({ host: '127.0.0.1', port: 1, max: 2, connectionTimeoutMillis: 60_000 });
    for (let n = 0; n < 3; n += 1) {
      expect(await refusal(asProject('a', () => away.connect()))).to.include({ code: 'ECONNREFUSED' });
    }
    await away.end();
  });
});
