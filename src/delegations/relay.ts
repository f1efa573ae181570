import pLimit from 'p-limit';
import type { Db } from '../db/db.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import type { Round } from '../platform/rounds.js';
import { openActionsOf } from '../sessions/required-actions.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { newDeliveries } from '../turns/children.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import { requiresAction } from '../waits/store.js';

/** Time between two `agent.requires_action` that tell of the child turns of one turn: ten children do not write ten events each. */
const MIN_INTERVAL_MS = 2000;
const PARALLEL = 8;

interface News {
  id: string;
  hasActions: boolean;
  hasFiles: boolean;
}

/** The turns whose child turns have open actions, or files, that the turns do not show yet. */
function findNews(db: Db, turns: Sql): Promise<News[]> {
  return runSql<News>(
    db,
    sql`SELECT * FROM (
          SELECT d.turn_id AS id,
            bool_or(d.shown_waits <> ${rawSql(openActionsOf('d.child_turn_id'))})
              AND coalesce(max(d.shown_at) <= clock_timestamp() - ${MIN_INTERVAL_MS}::integer * interval '1 ms', true) AS "hasActions",
            bool_or(d.done_at IS NULL AND EXISTS (
              SELECT FROM events e WHERE e.session_id = child.session_id AND e.turn_number = child.number
                AND e.type = 'agent.file' AND e.position > d.shown_position)) AS "hasFiles"
          FROM (${turns}) AS calling JOIN delegations d ON d.turn_id = calling.id JOIN turns child ON child.id = d.child_turn_id
          GROUP BY d.turn_id) AS news
        WHERE "hasActions" OR "hasFiles"`,
  );
}

const CALLING = sql`SELECT DISTINCT turn_id AS id FROM delegations WHERE done_at IS NULL`;

/** Tells turns what their child turns ask for and deliver. */
async function relay(deps: TurnDeps): Promise<void> {
  const news = await findNews(deps.db, CALLING);
  await pLimit(PARALLEL).map(news, async ({ id }) => {
    try {
      await tell(deps, id);
    } catch (err) {
      if (err instanceof TurnEndedError || err instanceof OvertakenError) return;
      deps.log.warn({ err, turn_id: id }, 'a turn could not be told of its child turns; the next round tries again');
    }
  });
}

function tell(deps: TurnDeps, turnId: string): Promise<void> {
  return changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    // Another process may have told it before the lock.
    const [news] = await findNews(tx, sql`SELECT ${turnId}::text AS id`);
    if (news === undefined) return turn.stayStill();
    if (news.hasFiles) turn.append(...(await newDeliveries(tx, turnId)));
    if (news.hasActions) turn.append(...(await requiresAction(tx, turnId)));
  });
}

export const childNews: Round<TurnDeps> = { name: 'news of child turns', everyMs: 500, run: relay };
