import { expect } from 'chai';
import { listActiveSessions, listSessions, MAX_SEARCHED_SESSIONS } from '../../../src/sessions/list.js';
import { countRowsRead } from '../../support/rows-read.js';
import { useDatabase, usePool } from '../../support/use.js';

describe('the plans of searches', function () {
  this.timeout(170_000);
  const db = usePool(useDatabase(), 2);

  it('a search in sessions reads as many rows for a page, however many there are, in both orders and by status', async () => {
    await db.query(`INSERT INTO projects (id, name) VALUES ('search', 'search')`);
    const readOf = async (): Promise<Record<string, number>> => {
      const reads: Record<string, number> = {};
      for (const list of [listSessions, listActiveSessions]) {
        for (const state of [undefined, 'completed'] as const) {
          for (const text of ['nothing', 'q', 'session 77']) {
            const search = { text, ...(state && { state }) };
            const { read, result } = await countRowsRead(db, (counted) =>
              list(counted, 'search', { limit: 100, after: null }, search),
            );
            expect(result.rows).to.have.length(text === 'session 77' ? 100 : 0);
            reads[`${list.name} ${state ?? ''} ${text}`] = read;
          }
        }
      }
      return reads;
    };
    await insertSearched('search', 1, MAX_SEARCHED_SESSIONS + 1000);
    await db.query('ANALYZE');
    const few = await readOf();
    for (let from = MAX_SEARCHED_SESSIONS + 1001; from < 4 * MAX_SEARCHED_SESSIONS; from += 10_000) {
      await insertSearched('search', from, from + 9999);
    }
    await db.query('ANALYZE');
    for (const [search, read] of Object.entries(await readOf())) {
      // Each node of the plan counts the rows that it passes on.
      expect(read, search).to.be.within(MAX_SEARCHED_SESSIONS, few[search]! + 1000);
    }
  });

  /** Sessions with a turn each that completed. */
  async function insertSearched(project: string, from: number, to: number): Promise<void> {
    await db.query(
      `WITH made AS (
         INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata, turn_count, last_turn_id, preview,
           preview_folded, created_at, metadata_updated_at)
         SELECT 'ses_' || $1 || n, $1, 'm', false, '{}', '{}', 1, 'turn_' || $1 || n, 'Session ' || n, 'session ' || n, at, at
         FROM generate_series($2::integer, $3::integer) AS n, LATERAL (SELECT now() - n * interval '1 s' AS at) AS time RETURNING *),
       turned AS (
         INSERT INTO turns (id, session_id, project_id, number, state, ended_at, transition_at)
         SELECT last_turn_id, id, $1, 1, 'completed', created_at, created_at FROM made)
       INSERT INTO session_states (session_id, project_id, state, created_at, active_at, row_bytes, preview_folded)
       SELECT id, $1, 'completed', created_at, created_at, 1500, preview_folded FROM made`,
      [project, from, to],
    );
  }
});
