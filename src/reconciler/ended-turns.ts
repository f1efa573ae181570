import pLimit from 'p-limit';
import { runSql, sql } from '../db/sql.js';
import type { TurnState } from '../db/turn-states.js';
import type { Round } from '../platform/rounds.js';
import type { ReconcileDeps } from './deps.js';

/** Workflows that a round looks at: the largest page that Temporal gives. */
const PAGE = 1000;
const PARALLEL = 8;
/**
 * A workflow that can end by itself has ended by then: one whose activity was on a worker that died goes on after the heartbeat timeout
 * of 90 s.
 */
const GRACE_SECONDS = 180;

/**
 * Ends workflows whose turn has ended without them: it was cancelled while it waited, and Temporal was away when it was told. Otherwise
 * they would run until their wait expires. Takes one page of the running workflows, from those that started last before `before`; returns
 * where the next one begins, or null after the last one.
 */
export async function terminateEnded(deps: ReconcileDeps, before: Date | null): Promise<Date | null> {
  const { db, workflows, log, count } = deps;
  const { turnIds, next } = await workflows.listRunning(before ?? new Date(), PAGE);
  const ended = await runSql<{ id: string; state: TurnState }>(
    db,
    sql`SELECT id, state FROM turns
        WHERE id = ANY(${turnIds}::text[]) AND ended_at < statement_timestamp() - ${GRACE_SECONDS}::integer * interval '1 s'`,
  );
  await pLimit(PARALLEL).map(ended, async ({ id, state }) => {
    if (!(await workflows.terminate(id, `its turn has ended as ${state}, and the workflow was not told`))) return;
    count('workflow_ended');
    log.warn({ turn_id: id }, 'the reconciler ended the workflow of a turn that had ended');
  });
  return next;
}

/** Reads a page a round, however many turns wait: the newest workflows first, and after the oldest ones from the beginning. */
export function endedTurns(): Round<ReconcileDeps> {
  let before: Date | null = null;
  return {
    name: 'workflows of ended turns',
    everyMs: 10_000,
    run: async (deps) => void (before = await terminateEnded(deps, before)),
  };
}
