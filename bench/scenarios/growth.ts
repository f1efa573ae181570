import pg from 'pg';
import type { Database } from '../../src/db/db.js';
import { openDataSource } from '../../src/db/data-source.js';
import { readHistory } from '../../src/events/read-history.js';
import { createKey } from '../../src/projects/api-keys.js';
import { listActiveSessions, listSessions } from '../../src/sessions/list.js';
import { purgeSessions } from '../../src/sessions/purge.js';
import { forkSession } from '../../src/turns/fork.js';
import { transaction } from '../../src/db/transaction.js';
import { acceptMessage } from '../../test/support/accept-message.js';
import { insertSessions } from '../../test/support/factories.js';
import { shown, timed, timedEach } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const FEW_TURNS = 20_000;
export const TURNS_PER_SESSION = 10;
const SAMPLES = 300;
const SEARCHES = 20;
const BATCH = 200_000;
const PURGED_SESSIONS = 1000;
const MESSAGE = { content: 'Hello', files: [], skills: [] };
const WORDS = 'The quick brown fox jumps over the lazy dog. ';

/** SQL writes rows of ended turns. Then the service's own statements are timed, first on a few rows and then on all. */
export default scenario({
  measures: 'a message, a page of a history, a search, a fork and a purge on full tables, ten turns per session',
  options: { turns: 2_000_000 },
  async run(bench, { turns }) {
    const postgres = await bench.postgres();
    const connect = async (): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      bench.atEnd(() => client.end());
      return client;
    };
    const db = await openDataSource(postgres.url, 4, 'bench');
    bench.atEnd(() => db.destroy());
    const [admin, second] = await Promise.all([connect(), connect()]);
    const { projectId } = await createKey(db, { project: 'demo', maxRunningTurns: 1_000_000 });
    await fill(admin, projectId, 0, FEW_TURNS);
    await admin.query('VACUUM (ANALYZE)');
    await measure(db, admin, projectId, FEW_TURNS);
    const took = await timed(async () => {
      const build = await dropIndexes(admin);
      const middle = Math.ceil((FEW_TURNS + turns) / 2 / TURNS_PER_SESSION) * TURNS_PER_SESSION;
      await Promise.all([
        fillInBatches(admin, projectId, FEW_TURNS, middle),
        fillInBatches(second, projectId, middle, turns),
      ]);
      await build();
    });
    row('filled in', `${(took / 1000).toFixed(0)} s`);
    await measure(db, admin, projectId, turns);
  },
});

/** Adds ended turns with their rows: three events, a model call and its answer. */
async function fill(client: pg.Client, projectId: string, from: number, to: number): Promise<void> {
  await client.query(`SET synchronous_commit = off`);
  // Without foreign key checks, to save time: the generated rows are consistent.
  await client.query(`SET session_replication_role = replica`);
  const session = `'ses_' || md5((n / ${TURNS_PER_SESSION})::text)`;
  const turn = `'turn_' || md5(n::text)`;
  const series = `generate_series($1::integer, $2::integer - 1) AS n`;
  const at = `now() - interval '30 days' + n * interval '1 ms'`;
  const statements = [
    `INSERT INTO configurations (id, model_id, thinking_enabled, mcp_servers, tools, model_tools, fallback_model_ids)
     SELECT ${session}, 'm', false, '{}', '[]', '[]', '{}' FROM ${series} WHERE n % ${TURNS_PER_SESSION} = 0`,
    `INSERT INTO sessions (id, configuration_id, project_id, model_id, thinking_enabled, mcp_servers, metadata, turn_count,
       last_turn_id, preview, preview_folded, created_at)
     SELECT ${session}, ${session}, '${projectId}', 'm', false, '{}', '{}', ${TURNS_PER_SESSION}, 'turn_' || md5((n + 9)::text), '${WORDS}',
       lower('${WORDS}'), ${at}
     FROM ${series} WHERE n % ${TURNS_PER_SESSION} = 0`,
    `INSERT INTO session_states (session_id, project_id, state, created_at, active_at, row_bytes, preview_folded)
     SELECT ${session}, '${projectId}', 'completed', ${at}, ${at} + random() * interval '1 day', 1, lower('${WORDS}')
     FROM ${series} WHERE n % ${TURNS_PER_SESSION} = 0`,
    `INSERT INTO turns (id, session_id, configuration_id, project_id, number, state, position, queued_at, started_at, ended_at)
     SELECT ${turn}, ${session}, ${session}, '${projectId}', n % ${TURNS_PER_SESSION} + 1, 'completed', 3, ${at}, ${at}, ${at}
     FROM ${series}`,
    `INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
     SELECT 'evt_' || md5(n || type), ${session}, ${turn}, n % ${TURNS_PER_SESSION} + 1, place, type,
       json_build_object('content', '${WORDS}', 'files', '[]'::json, 'skills', '[]'::json), ${at}
     FROM ${series}, unnest(ARRAY['user.message', 'agent.message', 'turn.completed']) WITH ORDINALITY AS e(type, place)`,
    `INSERT INTO model_calls (turn_id, step, position, call, message_id, worker_id, task_token, model_id)
     SELECT ${turn}, 1, 1, 1, 'msg_' || n, 'worker', repeat('x', 180)::bytea, 'a-model' FROM ${series}`,
    `INSERT INTO model_steps (turn_id, step, message_id, model_id, content, stop_reason)
     SELECT ${turn}, 1, 'msg_' || n, 'a-model', json_build_array('${WORDS}'), 'end_turn' FROM ${series}`,
  ];
  for (const statement of statements) await client.query(statement, [from, to]);
  await client.query('SET session_replication_role = origin');
}

export async function fillInBatches(client: pg.Client, projectId: string, from: number, to: number): Promise<void> {
  for (let next = from; next < to; next += BATCH) await fill(client, projectId, next, Math.min(next + BATCH, to));
}

/** Drops what slows the filling down; the function that it returns builds it again. */
export async function dropIndexes(admin: pg.Client): Promise<() => Promise<void>> {
  const { rows: constraints } = await admin.query<{ name: string; relation: string; definition: string }>(
    `SELECT conname AS name, conrelid::regclass AS relation, pg_get_constraintdef(oid) AS definition FROM pg_constraint
     WHERE conrelid IN ('turns'::regclass, 'events'::regclass) AND contype = 'u'`,
  );
  for (const { name, relation } of constraints) await admin.query(`ALTER TABLE ${relation} DROP CONSTRAINT ${name}`);
  const { rows: indexes } = await admin.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid IN ('turns'::regclass, 'events'::regclass) AND NOT indisprimary`,
  );
  for (const { name } of indexes) await admin.query(`DROP INDEX ${name}`);
  return async () => {
    await admin.query(`SET maintenance_work_mem = '1GB'`);
    for (const { definition } of indexes) await admin.query(definition);
    for (const { name, relation, definition } of constraints) {
      await admin.query(`ALTER TABLE ${relation} ADD CONSTRAINT ${name} ${definition}`);
    }
    await admin.query('VACUUM (ANALYZE)');
    await admin.query('CHECKPOINT');
  };
}

async function measure(db: Database, admin: pg.Client, projectId: string, turns: number): Promise<void> {
  const { rows } = await admin.query<{ id: string }>(
    `SELECT id FROM sessions WHERE last_turn_id IS NOT NULL ORDER BY md5(id || $1) LIMIT ${SAMPLES}`,
    [String(turns)],
  );
  const fresh = await insertSessions(db, projectId, SAMPLES);
  const { rows: size } = await admin.query<{ size: string }>(
    'SELECT pg_size_pretty(pg_database_size(current_database())) AS size',
  );
  const name = `${turns.toLocaleString('en')} turns`;
  row(`${name}: database`, size[0]!.size);
  const queued = await timedEach(SAMPLES, (n) => acceptMessage(db, projectId, fresh[n]!, MESSAGE, 'bench'));
  row(`${name}: queue a turn`, shown(queued, 1));
  // Each message counts the project's open turns, and these would stay open.
  await admin.query(`UPDATE turns SET state = 'completed', ended_at = now() WHERE state = 'queued'`);
  await admin.query('DELETE FROM open_turns');
  await admin.query('VACUUM turns, open_turns');
  const read = await timedEach(rows.length, (n) => readHistory(db, rows[n]!.id, null, 25, { isNewestFirst: false }));
  row(`${name}: page of a history (25)`, shown(read, 1));
  for (const list of [listSessions, listActiveSessions]) {
    const searched = await timedEach(SEARCHES, () =>
      list(db, projectId, { limit: 20, after: null }, { text: 'no such text' }),
    );
    row(`${name}: page of a search without a hit (${list.name})`, shown(searched, 1));
  }
  const forked = await timedEach(SAMPLES, (n) =>
    transaction(db, (tx) =>
      forkSession(tx, { id: rows[n]!.id, project_id: projectId, end_user: null }, {}, { byToken: false }, 0),
    ),
  );
  row(`${name}: fork of ten turns`, shown(forked, 1));
  await admin.query(
    `UPDATE sessions SET deleted_at = now() - interval '2 hours' WHERE id IN (
       SELECT id FROM sessions WHERE turn_count = ${TURNS_PER_SESSION} AND deleted_at IS NULL LIMIT ${PURGED_SESSIONS})`,
  );
  let purged = 0;
  const took = await timed(async () => {
    for (let count = 1; count > 0; purged += count) count = (await purgeSessions(db, 1000)).turns;
  });
  row(`${name}: purge`, `${((purged / took) * 1000).toFixed(0)} turns/s`);
}
