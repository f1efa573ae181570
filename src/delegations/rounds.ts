import { rawSql, runSql, sql } from '../db/sql.js';
import type { Database } from '../db/db.js';
import type { Round } from '../platform/rounds.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import type { TurnDeps } from '../turns/change-turn.js';
import { cancelTurns } from '../turns/children.js';
import { CHECK_SOON, IS_SETTLED, OUTCOME_SETTLED } from '../waits/settled.js';
import { signalAnswers } from '../waits/signal-answers.js';

type Deps = TurnDeps & { workflows: TurnWorkflows };

/** The end of a child turn signals its parent: one that has ended for this long has not reached it. */
const SIGNAL_GRACE = "interval '1 s'";
const IS_LATE = `(w.kind <> 'child_turn' OR w.ask->>'child_turn_id' IS NULL OR EXISTS (
  SELECT FROM turns child WHERE child.id = w.ask->>'child_turn_id' AND child.ended_at < statement_timestamp() - ${SIGNAL_GRACE}))`;

/**
 * Ends waits of which no signal tells: for a child turn whose signal was lost, for a place, for a part of the budget of a session, and
 * for a larger one. Returns the turns whose workflows must be signalled.
 */
async function endWaits(db: Database, namespace: string): Promise<string[]> {
  const rows = await runSql<{ turn_id: string }>(
    db,
    sql`WITH waiting AS (
          SELECT w.turn_id, w.step, w.id FROM waits w
          WHERE w.kind IN ('child_turn', 'reserve') AND w.state = 'open' AND ${rawSql(IS_LATE)} AND ${rawSql(IS_SETTLED)}
          UNION
          SELECT w.turn_id, w.step, w.id FROM open_turns o JOIN waits w ON w.turn_id = o.turn_id
          WHERE o.parent_turn_id IS NOT NULL AND w.kind = 'budget' AND w.state = 'open' AND ${rawSql(IS_SETTLED)}),
        due AS (
          SELECT w.turn_id, w.step, w.id FROM waits w JOIN waiting USING (turn_id, step, id) JOIN open_turns o USING (turn_id)
          WHERE w.state = 'open' AND o.namespace = ${namespace} ORDER BY 1, 2, 3 FOR UPDATE OF w SKIP LOCKED),
        ended AS (
          UPDATE waits w SET state = 'closed', outcome = ${rawSql(OUTCOME_SETTLED)}, closed_at = clock_timestamp()
          FROM due WHERE (w.turn_id, w.step, w.id) = (due.turn_id, due.step, due.id) AND w.state = 'open'
          RETURNING w.turn_id),
        ${rawSql(CHECK_SOON)}
        SELECT DISTINCT turn_id FROM ended`,
  );
  return rows.map(({ turn_id: id }) => id);
}

export const childWaits: Round<Deps> = {
  name: 'waits for child turns',
  everyMs: 500,
  async run(deps) {
    for (const turnId of await endWaits(deps.db, deps.workflows.namespace)) signalAnswers(deps, turnId);
  },
};

/** A child turn is open only while its parent is: cancels those whose parent is cancelled or has ended, if the process died that was to do it. */
async function cancelOrphans(deps: Deps): Promise<void> {
  const rows = await runSql<{ id: string }>(
    deps.db,
    sql`SELECT o.turn_id AS id FROM open_turns o LEFT JOIN open_turns parent ON parent.turn_id = o.parent_turn_id
        WHERE o.parent_turn_id IS NOT NULL AND o.namespace = ${deps.workflows.namespace} AND o.cancel_requested_at IS NULL
          AND (parent.turn_id IS NULL OR parent.cancel_requested_at IS NOT NULL)`,
  );
  await cancelTurns(
    deps,
    rows.map(({ id }) => id),
  );
}

export const orphanedChildren: Round<Deps> = { name: 'orphaned child turns', everyMs: 1000, run: cancelOrphans };
