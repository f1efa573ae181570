import { expect } from 'chai';
import { createKey } from '../../../src/projects/api-keys.js';
import { expireSessions, purgeSessions } from '../../../src/sessions/purge.js';
import { insertSessions, insertWaitingTurn } from '../../support/factories.js';
import { useDatabase, usePool } from '../../support/use.js';

const TABLES = [
  ...['turns', 'events', 'turn_servers', 'model_calls', 'model_steps', 'tool_calls', 'mcp_tasks'],
  ...['turn_agents', 'delegations'],
  ...['waits', 'compactions', 'session_states', 'waiting_messages', 'session_overrides'],
];
/** They outlive a session, or are gone before its purge: with its deletion, the end of its turn or stream, and their partition. */
const NOT_PURGED = [
  ...['turn_usage', 'webhook_deliveries', 'files', 'schedules', 'schedule_runs'],
  ...['open_turns', 'token_streams', 'deltas', 'workspaces', 'kept_workspaces'],
  'audit_log',
  // With the row of the session, or with its family: foreign keys and a trigger.
  ...['remembered_approvals', 'token_files', 'family_sessions'],
  // What a turn wrote there belongs to others than its session; src/erasures empties its own.
  ...['memory_files', 'memory_versions', 'erased_sessions'],
];

describe('the purge of deleted sessions', () => {
  const db = usePool(useDatabase(), 2);

  it('the purge of deleted sessions bounds a step by the rows of its turns, not only by their number, and leaves no rows', async () => {
    const { projectId } = await createKey(db, { project: 'demo' });
    for (const session of await insertSessions(db, projectId, 3)) {
      const turn = await insertWaitingTurn(db, session, { toolUseId: `toolu_${session}` });
      await db.query(`UPDATE turns SET state = 'completed', position = 6000 WHERE id = $1`, [turn]);
      await db.query(
        `INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
         SELECT 'evt_' || n || $1, $1, $2, 1, n, 'agent.message', '{}', now() FROM generate_series(1, 3) AS n`,
        [session, turn],
      );
      await db.query(`INSERT INTO model_steps VALUES ($1, 1, 'msg_1', 'm', '[]', 'end_turn')`, [turn]);
      await db.query(
        `INSERT INTO model_calls (turn_id, step, position, call, message_id, worker_id, task_token, model_id)
         VALUES ($1, 1, 1, 1, 'msg_1', 'a-test', '', 'm')`,
        [turn],
      );
      await db.query(
        `INSERT INTO turn_servers (turn_id, server_id, index, name, toolset_hash, connected)
         VALUES ($1, 'mcp_1', 0, 'a', 'hash', true)`,
        [turn],
      );
      await db.query(`INSERT INTO turn_agents VALUES ($1, 0, 'agent_1', NULL, 'a', 'An agent.', NULL)`, [turn]);
      await db.query(
        `INSERT INTO delegations (turn_id, step, index, agent_id, agent_version, child_session_id, child_turn_id, created_at)
         VALUES ($1, 1, 0, 'agent_1', 1, 'ses_child', 'turn_child' || $1, now())`,
        [turn],
      );
      await db.query(
        `INSERT INTO mcp_tasks (turn_id, step, index, server_id, task_id, status, poll_ms)
         VALUES ($1, 1, 0, 'mcp_1', 'task_1', 'completed', 1000)`,
        [turn],
      );
      await db.query(
        `INSERT INTO waiting_messages (id, session_id, turn_id, steers, data, created_at) VALUES ($1, $1, 't', 0, '{}', now())`,
        [session],
      );
      await db.query(`INSERT INTO session_overrides (session_id, number, overrides) VALUES ($1, 1, '{}')`, [session]);
      await db.query(`INSERT INTO compactions (session_id, turn_number, summary) VALUES ($1, 1, '')`, [session]);
    }
    await db.query(`UPDATE sessions SET deleted_at = now() - interval '2 hours'`);
    for (const table of TABLES)
      expect(await db.query(`SELECT FROM ${table}`), table).to.have.length(3 * (table === 'events' ? 3 : 1));
    expect(await purgeSessions(db, 1000)).to.deep.equal({ turns: 2, sessions: 2 });
    expect(await purgeSessions(db, 1000)).to.deep.equal({ turns: 1, sessions: 1 });
    expect(await purgeSessions(db, 1000)).to.deep.equal({ turns: 0, sessions: 0 });
    for (const table of [...TABLES, 'sessions']) {
      expect(await db.query(`SELECT FROM ${table}`), table).to.have.length(0);
    }
  });

  it('the purge of deleted sessions leaves sessions that a schedule names which has not ended', async () => {
    const { projectId } = await createKey(db, { project: 'scheduled' });
    const sessions = await insertSessions(db, projectId, 4);
    const states = ['active', 'paused', 'ended'];
    for (const [index, state] of states.entries()) {
      await db.query(
        `INSERT INTO schedules (id, project_id, cron, timezone, target, session_id, message, overlap, state, next_run_at)
         VALUES ($1, $2, '0 8 * * *', 'UTC', '{}', $3, '{}', 'skip', $1, CASE $1 WHEN 'active' THEN now() END)`,
        [state, projectId, sessions[index]],
      );
    }
    await db.query(`UPDATE sessions SET metadata_updated_at = now() - interval '40 days'`);
    await db.query(
      `INSERT INTO workspaces (session_id, project_id, version, objects, cwd, size_bytes, file_count, updated_at)
       SELECT id, project_id, 1, '{}', '/workspace', 7, 1, now() FROM sessions WHERE id = ANY($1)`,
      [sessions],
    );
    expect(await expireSessions(db, 30, 1000)).to.equal(2);
    const left = await db.query('SELECT id FROM sessions WHERE deleted_at IS NULL ORDER BY id');
    expect(left).to.deep.equal(
      sessions
        .slice(0, 2)
        .sort()
        .map((id) => ({ id })),
    );
    const workspaces = await db.query('SELECT session_id AS id FROM workspaces ORDER BY id');
    expect(workspaces, 'a workspace goes with its session').to.deep.equal(left);
    const [storage] = await db.query(`SELECT bytes FROM project_storage WHERE project_id = $1`, [projectId]);
    expect(storage).to.deep.equal({ bytes: 14 });
  });

  it('the purge of deleted sessions covers every table with rows of turns and sessions', async () => {
    const rows = await db.query<{ name: string }[]>(
      `SELECT DISTINCT relname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
         AND attname IN ('turn_id', 'session_id')`,
    );
    expect(rows.map(({ name }) => name)).to.have.members([...TABLES, ...NOT_PURGED]);
  });
});
