import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { openDataSource } from '../../../src/db/data-source.js';
import { loadConversation } from '../../../src/steps/conversation.js';
import { queueTurn } from '../../../src/turns/queue.js';
import { insertSessions } from '../../support/factories.js';
import { seedSession } from '../../support/conversations.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { countRowsRead } from '../../support/rows-read.js';

/** A connection keeps a plan, also one made before Postgres has statistics: each statement finds its rows by an index. */
describe('the plans of statements', () => {
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

  for (const statistics of ['without', 'with']) {
    it(`a message finds its session among thousands, ${statistics} statistics`, async () => {
      const project = `proj_${statistics}`;
      await db.query('INSERT INTO projects (id, name) VALUES ($1, $1)', [project]);
      const [session] = await insertSessions(db, project, 5000);
      if (statistics === 'with') await db.query('ANALYZE');
      const message = { content: 'Hello', files: [], skills: [] };
      const { read } = await countRowsRead(db, (counted) => queueTurn(counted, project, session!, message, 'none'));
      expect(read).to.be.lessThan(50);
    });
  }

  it('a conversation of many turns is read once', async () => {
    const turns = 60;
    const { turnId } = await seedSession(
      db,
      Array.from({ length: turns }, () => ({ state: 'completed' })),
    );
    const { read, result } = await countRowsRead(db, (counted) => loadConversation(counted, turnId));
    expect(result.conversation.turns).to.have.length(turns);
    expect(read).to.be.lessThan(turns * 20);
  });
});
