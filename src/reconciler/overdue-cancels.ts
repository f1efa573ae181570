import pLimit from 'p-limit';
import { runSql, sql } from '../db/sql.js';
import type { Round } from '../platform/rounds.js';
import { STOP_AFTER_CANCEL_MS } from '../stream/deltas.js';
import { endTurn } from '../turns/end.js';
import type { ReconcileDeps } from './deps.js';

const PARALLEL = 8;
/**
 * How long workers and the workflow have to end a turn that is cancelled: 1 s. The second half of it is for the streams to stop and
 * to store what watchers received.
 */
export const CANCEL_GRACE_MS = 2 * STOP_AFTER_CANCEL_MS;

/** Ends the cancelled turns that neither a worker nor their workflow has ended, the last link of docs/architecture.md "A cancel request". */
export async function cancelOverdue({ workflows, log, count, ...deps }: ReconcileDeps): Promise<void> {
  const overdue = await runSql<{ id: string }>(
    deps.db,
    sql`SELECT turn_id AS id FROM open_turns WHERE namespace = ${workflows.namespace}
          AND cancel_requested_at < statement_timestamp() - ${CANCEL_GRACE_MS}::integer * interval '1 ms'`,
  );
  await pLimit(PARALLEL).map(overdue, async ({ id }) => {
    try {
      if (await endTurn({ ...deps, log }, id, { kind: 'cancelled' })) count('cancelled');
    } catch (err) {
      log.warn({ err, turn_id: id }, 'a turn could not be cancelled; the next round tries again');
    }
    // Not awaited, because Temporal may be away.
    workflows
      .cancel(id)
      .catch((err: unknown) => log.warn({ err, turn_id: id }, 'a cancel request did not reach Temporal'));
  });
}

export const overdueCancels: Round<ReconcileDeps> = { name: 'overdue cancels', everyMs: 500, run: cancelOverdue };
