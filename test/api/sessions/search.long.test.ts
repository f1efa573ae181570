import { expect } from 'chai';
import { MAX_SEARCHED_SESSIONS } from '../../../src/sessions/list.js';
import { useService } from '../../support/use.js';

const SESSIONS = MAX_SEARCHED_SESSIONS + 500;

/** decisions.md "Finding sessions". */
describe('a search in many sessions', function () {
  this.timeout(170_000);
  const service = useService({ own: 'many sessions' });
  let projectId = '';
  before(async () => {
    const [project] = await service.db.query<{ id: string }[]>(`SELECT id FROM projects WHERE name = 'demo'`);
    projectId = project!.id;
    // Only the oldest has `oldest`.
    await service.db.query(
      `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata, turn_count, last_turn_id, preview,
         preview_folded, created_at, metadata_updated_at)
       SELECT 'ses_' || lpad(n::text, 26, '0'), $1, 'test-model', false, '{}', '{}', 1, 'turn_' || n, text, lower(text), at, at
       FROM generate_series(1, $2::integer) AS n, LATERAL (
         SELECT now() - interval '1 day' + n * interval '1 s' AS at, 'Session ' || n || CASE WHEN n = 1 THEN ' oldest' ELSE '' END AS text) AS made`,
      [projectId, SESSIONS],
    );
    await service.db.query(
      `INSERT INTO turns (id, session_id, project_id, number, state, position, ended_at, transition_at)
       SELECT last_turn_id, id, project_id, 1, CASE WHEN length(preview) % 2 = 0 THEN 'completed' ELSE 'failed' END, 1, created_at, created_at
       FROM sessions WHERE project_id = $1`,
      [projectId],
    );
    await service.db.query(
      `INSERT INTO session_states (session_id, project_id, state, created_at, active_at, row_bytes, preview_folded)
       SELECT s.id, s.project_id, state, s.created_at, s.created_at, 1, preview_folded FROM sessions s JOIN turns t ON t.id = last_turn_id
       WHERE s.project_id = $1`,
      [projectId],
    );
  });

  interface Found {
    names: string[];
    /** How many items each page had. */
    pages: number[];
  }
  const find = async (query: string): Promise<Found> => {
    const [names, pages]: [string[], number[]] = [[], []];
    for (let cursor = ''; ;) {
      const { status, body } = await service.api('GET', `/v1/sessions?limit=100&${query}${cursor}`);
      expect(status, JSON.stringify(body)).to.equal(200);
      names.push(...body.items.map(({ preview }: { preview: string }) => preview));
      pages.push(body.items.length as number);
      if (body.meta.next_cursor === null) return { names, pages };
      cursor = `&cursor=${body.meta.next_cursor}`;
    }
  };

  for (const order of ['created', 'activity']) {
    it(`a search in many sessions looks at 10,000 of them for a page, and its cursor goes on behind them, in the order of ${order}`, async () => {
      expect(await find(`order=${order}&q=OLDEST`)).to.deep.equal({ names: ['Session 1 oldest'], pages: [0, 1] });
      expect(await find(`order=${order}&q=nothing`)).to.deep.equal({ names: [], pages: [0, 0] });
      const sevens = (n: number): boolean => String(n).includes('777');
      const all = Array.from({ length: SESSIONS }, (_, n) => SESSIONS - n).filter(sevens);
      const { names, pages } = await find(`order=${order}&q=777`);
      expect(names).to.deep.equal(all.map((n) => `Session ${n}`));
      expect(pages.every((count) => count <= 100)).to.equal(true);
    });

    it(`a search in many sessions goes on to the end with a status too, in the order of ${order}`, async () => {
      const [complete, failed, both] = [
        await find(`order=${order}&q=77&status=COMPLETE`),
        await find(`order=${order}&q=77&status=FAILED`),
        await find(`order=${order}&q=77`),
      ];
      expect(complete.names.length * failed.names.length).to.be.greaterThan(0);
      expect([...complete.names, ...failed.names].sort()).to.deep.equal([...both.names].sort());
      // Fewer than 10,000 are failed: one look is enough.
      expect((await find(`order=${order}&q=nothing&status=FAILED`)).pages).to.deep.equal([0]);
    });
  }

  it('a search in many sessions has an open one at its place among them', async () => {
    const [last] = await service.db.query<{ id: string; last_turn_id: string }[]>(
      `SELECT id, last_turn_id FROM sessions WHERE preview = 'Session 777' AND project_id = $1`,
      [projectId],
    );
    await service.db.query(`UPDATE turns SET state = 'running', ended_at = NULL WHERE id = $1`, [last!.last_turn_id]);
    await service.db.query(
      `INSERT INTO open_turns (turn_id, session_id, project_id, namespace) VALUES ($1, $2, $3, 'none')`,
      [last!.last_turn_id, last!.id, projectId],
    );
    const { names } = await find('order=activity&q=session%20777');
    expect(names).to.deep.equal(
      [7779, 7778, 7777, 7776, 7775, 7774, 7773, 7772, 7771, 7770, 777].map((n) => `Session ${n}`),
    );
  });

  it('a search in many sessions between two times looks at those between them', async () => {
    const [row] = await service.db.query<{ at: string }[]>(
      `SELECT created_at AS at FROM sessions WHERE preview = 'Session 100' AND project_id = $1`,
      [projectId],
    );
    const before = await find(`q=oldest&created_before=${row!.at}`);
    expect(before).to.deep.equal({ names: ['Session 1 oldest'], pages: [1] });
    expect((await find(`q=oldest&created_after=${row!.at}`)).pages).to.deep.equal([0, 0]);
  });
});
