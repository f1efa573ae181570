import { runSql, sql } from '../db/sql.js';
import type { Round } from '../platform/rounds.js';
import type { ReconcileDeps } from './deps.js';
import { STALE_TURN, type StaleTurn } from './repair.js';
import { reconcileAll } from './stale-turns.js';

/** Temporal's list of closed workflows lags behind, so each round reads the last minute. Turns that have ended are skipped. */
const LOOKBACK_MS = 60_000;

/** Ends turns soon after an operator terminated their workflow, or it failed or timed out. */
async function reconcileClosed(deps: ReconcileDeps): Promise<void> {
  const ids = await deps.workflows.listFailed(new Date(Date.now() - LOOKBACK_MS));
  if (ids.length === 0) return;
  const turns = await runSql<StaleTurn>(
    deps.db,
    sql`${STALE_TURN} WHERE turns.id = ANY(${ids}::text[]) AND namespace = ${deps.workflows.namespace}`,
  );
  await reconcileAll(deps, turns);
}

export const closedWorkflows: Round<ReconcileDeps> = { name: 'closed workflows', everyMs: 3000, run: reconcileClosed };
