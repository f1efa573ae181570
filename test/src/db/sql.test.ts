import { expect } from 'chai';
import { runSql, sql } from '../../../src/db/sql.js';
import { useDatabase, usePool } from '../../support/use.js';

describe('a statement of runSql', () => {
  const db = usePool(useDatabase(), 1);

  for (const { verb, statement, rows } of [
    {
      verb: 'INSERT',
      statement: sql`INSERT INTO projects (id, name) VALUES ('proj_a', 'a'), ('proj_b', 'b') RETURNING id`,
      rows: 2,
    },
    {
      verb: 'UPDATE',
      statement: sql`UPDATE projects SET name = name || '1' WHERE id = 'proj_a' RETURNING id`,
      rows: 1,
    },
    { verb: 'DELETE', statement: sql`DELETE FROM projects WHERE id IN ('proj_a', 'proj_b') RETURNING id`, rows: 2 },
    { verb: 'DELETE of nothing', statement: sql`DELETE FROM projects WHERE id = 'proj_a' RETURNING id`, rows: 0 },
    { verb: 'UPDATE without RETURNING', statement: sql`UPDATE projects SET name = name`, rows: 0 },
    { verb: 'SELECT of arrays', statement: sql`SELECT ARRAY['a'] AS id FROM generate_series(1, 2)`, rows: 2 },
  ]) {
    it(`the answer of ${verb} is its rows`, async () => {
      const answer = await runSql<{ id: unknown }>(db, statement);
      expect(answer).to.have.length(rows);
      for (const row of answer) expect(row).to.have.keys('id');
    });
  }
});
