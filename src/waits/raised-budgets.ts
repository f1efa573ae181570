import { rawSql, runSql, sql } from '../db/sql.js';
import type { Database } from '../db/db.js';
import { actionsAnswered } from '../platform/metrics.js';
import type { Round } from '../platform/rounds.js';
import { FITS_BY_NOW } from './kinds/budget.js';
import { CHECK_SOON } from './settled.js';
import { signalAnswers } from './signal-answers.js';

/**
 * Lets turns of copies go on that wait for a larger budget (src/sessions/families): the budget of the first session has changed, or the
 * call of another one, which had reserved a part of it, has ended.
 */
export const raisedBudgets: Round<{ db: Database } & Parameters<typeof signalAnswers>[0]> = {
  name: 'raised budgets',
  everyMs: 1000,
  async run({ db, ...deps }) {
    const rows = await runSql<{ turn_id: string }>(
      db,
      sql`WITH due AS (
            SELECT w.turn_id, w.step, w.id
            FROM open_turns o JOIN family_sessions m ON m.session_id = o.session_id
              JOIN waits w ON w.turn_id = o.turn_id AND w.state = 'open' AND w.kind = 'budget'
            WHERE ${rawSql(FITS_BY_NOW)} ORDER BY w.turn_id, w.step, w.id FOR UPDATE OF w SKIP LOCKED),
          ended AS (
            UPDATE waits w SET state = 'closed', outcome = 'answered', closed_at = clock_timestamp()
            FROM due WHERE (w.turn_id, w.step, w.id) = (due.turn_id, due.step, due.id) AND w.state = 'open'
            RETURNING w.turn_id),
          ${rawSql(CHECK_SOON)}
          SELECT turn_id FROM ended`,
    );
    if (rows.length > 0) actionsAnswered.inc({ answer: 'answered' }, rows.length);
    for (const { turn_id: turnId } of rows) signalAnswers(deps, turnId);
  },
};
