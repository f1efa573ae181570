import { expect } from 'chai';
import { migrate } from '../../../src/db/migrate.js';
import { fingerprints } from '../../../src/db/migrations/index.js';
import { RELEASED_SCHEMA } from '../../../src/db/migrations/released-schema.js';
import { RELEASED_SESSIONS, restoreReleased } from '../../support/released-database.js';
import { startTurnService } from '../../support/turns.js';
import { requiredActions } from '../../support/waiting-turns.js';

/** The old session has a budget. */
const PRICE = { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };

describe('a database of a released version', () => {
  it('a database of a released version is migrated to this one; its sessions can be read, and run turns', async () => {
    const database = await restoreReleased();
    expect(await migrate(database.url)).to.deep.equal([...fingerprints.keys()].slice(1));
    expect(await migrate(database.url)).to.deep.equal([]);
    const service = await startTurnService({ databaseUrl: database.url, model: { price: PRICE } });
    try {
      const tables = Object.keys(RELEASED_SCHEMA).flatMap((object) => /^table (?!deltas$)(.+)/.exec(object)?.[1] ?? []);
      for (const table of tables.map((name) => (name === 'model_attempts' ? 'model_calls' : name))) {
        expect(await service.db.query(`SELECT FROM ${table} LIMIT 1`), table).to.have.length(1);
      }
      const keys = await service.db.query<{ scopes: string[] }[]>(
        `SELECT scopes FROM api_keys WHERE 'sessions:write' = ANY(scopes)`,
      );
      expect(keys).to.not.be.empty;
      for (const { scopes } of keys) expect(scopes).to.include('approvals:write');
      const old = await service.history(RELEASED_SESSIONS.ended);
      expect(old.map(({ type }) => type as string)).to.include.members(['user.message', 'agent.tool_result']);
      expect(old.at(-1)).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
      expect(old.at(-2)).to.include({ content: 'Deployed the branch main.' });
      expect(await requiredActions(service, RELEASED_SESSIONS.waiting)).to.have.length(1);

      service.model.on(/tests/, 'They pass.');
      const events = await service.run(RELEASED_SESSIONS.ended, 'And the tests?');
      expect(events.at(-1)).to.include({ type: 'turn.completed' });
      // The summary of the old turn.
      expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).to.contain('The branch main was deployed.');
    } finally {
      await service.close();
      await database.drop();
    }
  });
});
