import { expect } from 'chai';
import type { Database } from '../../../src/db/db.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { loadConversation } from '../../../src/steps/conversation.js';
import { sessionFiles } from '../../../src/steps/session-files.js';
import { acceptMessage } from '../../support/accept-message.js';
import { claimDeliveries, MAX_STARTED_PER_PROJECT } from '../../../src/webhooks/start-deliveries.js';
import { insertSessions, insertWaitingTurn } from '../../support/factories.js';
import { loadRequiredActions } from '../../../src/sessions/required-actions.js';
import { readFacts } from '../../../src/turns/facts.js';
import { OPEN_QUESTIONS } from '../../../src/turns/gauges.js';
import { loadAnswerable } from '../../../src/waits/answerable.js';
import { endAuthorizedWaits } from '../../../src/waits/login.js';
import { findClosedQuestions } from '../../../src/waits/watch.js';
import { seedSession } from '../../support/conversations.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { countRowsRead } from '../../support/rows-read.js';

/** A connection keeps a plan, also one made before Postgres has statistics: each statement finds its rows by an index. */
describe('the plans of statements', () => {
  let database: TestDatabase;
  let db: Database;
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
      const { read } = await countRowsRead(db, (counted) => acceptMessage(counted, project, session!, message, 'none'));
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

  for (const statistics of ['without', 'with']) {
    it(`what waits is found beside thousands of waits that have ended, ${statistics} statistics`, async () => {
      const project = `waits_${statistics}`;
      await db.query('INSERT INTO projects (id, name) VALUES ($1, $1)', [project]);
      const [session, other] = await insertSessions(db, project, 2);
      const turnId = await insertWaitingTurn(db, session!);
      await db.query(
        `INSERT INTO waits (turn_id, step, id, session_id, index, tool_use_id, kind, ask, during_call, state, outcome, asked_at,
           expires_at, closed_at)
         SELECT 'turn_' || $2 || n % 500, n % 10, 'wait_' || kind || n, $1, 0, 'use_' || n, kind,
           '{"mcp_server_id": "mcp_1", "end_user": "ada"}', kind = 'elicitation', 'closed', 'expired', now(), now(), now()
         FROM generate_series(1, 3000) AS n, unnest(ARRAY['tool_confirmation', 'elicitation', 'mcp_authorization']) AS kind`,
        [other!, statistics],
      );
      if (statistics === 'with') await db.query('ANALYZE');
      const named = { toolUseIds: ['toolu_1', 'use_7'], questionIds: ['wait_elicitation7'] };
      const readers: Record<string, (counted: Database) => Promise<unknown>> = {
        'the actions of a session': (counted) => loadRequiredActions(counted, session!),
        'what answers belong to': (counted) => loadAnswerable(counted, session!, named),
        'the calls of a user who has logged in': (counted) =>
          endAuthorizedWaits(counted, { serverId: 'mcp_1', user: 'ada' }),
        'closed questions': (counted) => findClosedQuestions(counted, ['elic_1', 'elic_2']),
        'the waits of the whole service': (counted) => counted.query(OPEN_QUESTIONS),
        'the facts of a turn': (counted) => readFacts(counted, turnId),
      };
      for (const [what, find] of Object.entries(readers)) {
        const { read } = await countRowsRead(db, find);
        expect(read, what).to.be.lessThan(100);
      }
    });
  }

  it('the files of a session are found beside thousands of messages without one', async () => {
    const file = { id: 'file_1', filename: 'a.csv', mime_type: 'text/csv', size_bytes: 1 };
    const turns = Array.from({ length: 1000 }, (_, at) => ({
      state: 'completed' as const,
      files: at === 500 ? [file] : [],
    }));
    const { sessionId } = await seedSession(db, turns);
    const { read, result } = await countRowsRead(db, (counted) =>
      sessionFiles(counted, { sessionId, projectId: 'proj_seed' }),
    );
    expect(result.map(({ id }) => id)).to.deep.equal(['file_1']);
    expect(read).to.be.lessThan(50);
  });

  for (const statistics of ['without', 'with']) {
    it(`deliveries are claimed for each project, beside thousands that wait and failed, ${statistics} statistics`, async () => {
      await db.query('DELETE FROM webhook_deliveries');
      await insertDeliveries('busy', 'failed', 3, '0 s', 5000);
      await insertDeliveries('busy', 'pending', 3, '1 hour', 5000);
      for (const attempts of [0, 1]) await insertDeliveries('busy', 'pending', attempts, '-1 hour', 5000);
      for (const attempts of [0, 1]) await insertDeliveries('other', 'pending', attempts, '0 s', 1);
      if (statistics === 'with') await db.query('ANALYZE webhook_deliveries');
      for (const claim of ['first', 'retry'] as const) {
        const { read, result } = await countRowsRead(db, (counted) => claimDeliveries(counted, claim));
        expect(read).to.be.lessThan(20 * MAX_STARTED_PER_PROJECT);
        const others = result.filter(({ project_id }) => project_id === 'other');
        expect([result.length, others.length], claim).to.deep.equal([MAX_STARTED_PER_PROJECT + 1, 1]);
      }
      for (const claim of ['first', 'retry'] as const) {
        const { read, result } = await countRowsRead(db, (counted) => claimDeliveries(counted, claim));
        expect(read).to.be.lessThan(20 * MAX_STARTED_PER_PROJECT);
        expect(result, `${claim}: the rest waits`).to.deep.equal([]);
      }
    });
  }

  /** Deliveries of a project that are due after a time. */
  function insertDeliveries(project: string, state: string, attempts: number, after: string, count: number) {
    return db.query(
      `INSERT INTO webhook_deliveries
         (id, webhook_id, project_id, event_type, state, attempt_count, next_attempt_at, wake_at, created_at)
       SELECT 'dlv_' || gen_random_uuid(), 'whk', $1, 'turn.completed', $2, $3, due, due, now()
       FROM generate_series(1, $5::integer), (SELECT now() + $4::interval AS due) AS time`,
      [project, state, attempts, after, count],
    );
  }
});
