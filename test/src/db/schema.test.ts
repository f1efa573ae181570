import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { openDataSource } from '../../../src/db/data-source.js';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { beginModelCall } from '../../../src/steps/model-call.js';
import { Notifier } from '../../../src/stream/notify.js';
import { requestCancel } from '../../../src/turns/request-cancel.js';
import { endTurn } from '../../../src/turns/end.js';
import { acceptMessage } from '../../support/accept-message.js';
import { ATTEMPT_ID, CALLED_MODEL } from '../../support/attempt-id.js';
import { insertSessions } from '../../support/factories.js';
import { startPostgres } from '../../support/postgres.js';
import { useDatabase, usePool } from '../../support/use.js';

const TURNS = 60;
/** What people and processes set up, not what turns leave behind. */
const BOUNDED_TABLES = [
  ...[
    'projects',
    'api_keys',
    'project_storage',
    'skills',
    'mcp_servers',
    'mcp_toolsets',
    'mcp_oauth',
    'webhooks',
    'agents',
    'agent_versions',
  ],
  ...['schedules', 'leases', 'workers', 'rate_limits', 'installation', 'migrations'],
  // One row for each server and user.
  'user_credentials',
  // One row for each key that is refused, for an hour.
  'audit_refusals',
];

describe('the schema', () => {
  const database = useDatabase();
  const db = usePool(database, 1);
  before(async () => {
    // One connection: it reports its own statistics.
  });

  it('the schema lets Postgres update turns in place, from the claim to the end', async () => {
    // A server of its own: a transaction of any database on it keeps dead rows, and then pages have no room.
    const postgres = await startPostgres({ durable: false });
    const db = await openDataSource(postgres.url, 1, 'test');
    const log = createLogger('silent', 'test');
    const deps = { db, log, notifier: new Notifier(db, log) };
    const { projectId } = await createKey(db, { project: 'demo', maxRunningTurns: TURNS });
    const ids: string[] = [];
    for (const session of await insertSessions(db, projectId, TURNS)) {
      const message = { content: 'x'.repeat(4000), files: [], skills: [] };
      ids.push((await acceptMessage(db, projectId, session, message, 'test')).id);
    }
    for (const id of ids) await beginModelCall(deps, id, 1, ATTEMPT_ID, CALLED_MODEL);
    for (const id of ids) await requestCancel(deps, id);
    for (const id of ids) expect(await endTurn(deps, id, { kind: 'cancelled' })).to.equal(true);
    await deps.notifier.flush();
    await db.query('SELECT pg_stat_force_next_flush()');
    const [updates] = await db.query(
      `SELECT n_tup_upd::integer AS updated, n_tup_hot_upd::integer AS "inPlace"
       FROM pg_stat_user_tables WHERE relname = 'turns'`,
    );
    expect(updates).to.deep.equal({ updated: 3 * TURNS, inPlace: 3 * TURNS });
    expect(await db.query('SELECT FROM open_turns')).to.have.length(0);
    await db.destroy();
    await postgres.stop();
  });

  it('the schema sorts indexed text by its bytes, so that no locale of the server slows it down or corrupts an index', async () => {
    const sortedOtherwise = await db.query(
      `SELECT indexrelid::regclass::text AS index, attname FROM pg_index
         JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_attribute ON attrelid = indexrelid
         JOIN pg_collation ON pg_collation.oid = attcollation
       WHERE relnamespace = 'public'::regnamespace AND collname <> 'C'`,
    );
    expect(sortedOtherwise).to.deep.equal([]);
  });

  it('the schema has the indexes that docs/operations/database.md gives a reason for, and no others', async () => {
    const rows = await db.query<{ name: string }[]>(
      `SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'public' AND tablename !~ '^(migrations$|deltas_|audit_log_)'`,
    );
    const page = readFileSync(new URL('../../../docs/operations/database.md', import.meta.url), 'utf8');
    const named = page
      .split('\n')
      .flatMap((line) => (line.startsWith('| `') ? line.split('|')[1]!.match(/\w+_\w+/g)! : []));
    expect(rows.map(({ name }) => name)).to.have.members(named);
  });

  it('the schema has autovacuum come to each table without a bound before its dead rows are many', async () => {
    const late = await db.query<{ name: string }[]>(
      `SELECT relname AS name FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname !~ '^deltas_'
         AND NOT coalesce(reloptions::text ~ 'autovacuum_vacuum_scale_factor=(0.02|0)\\M', false)`,
    );
    expect(late.map(({ name }) => name)).to.have.members(BOUNDED_TABLES);
  });

  it('the schema gives all ids the same collation, so that joins can use the index of either side', async () => {
    const names = await db.query(
      `SELECT DISTINCT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
         JOIN pg_collation ON pg_collation.oid = attcollation
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attname ~ '(^|_)id$' AND collname <> 'C' AND attname !~ 'model_id$'`,
    );
    expect(names).to.deep.equal([]);
  });
});
