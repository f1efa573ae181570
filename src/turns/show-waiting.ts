import { setTimeout as sleep } from 'node:timers/promises';
import { OPEN } from '../db/turn-states.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import { createdAt } from '../platform/ids.js';
import type { Logger } from '../platform/logger.js';
import type { TurnWorkflows, WaitingMessages } from '../temporal/turn-workflows.js';

export interface ShowDeps {
  db: Db;
  workflows: Pick<TurnWorkflows, 'signalWaiting'>;
  log: Logger;
}

const MIN_PAUSE_MS = 2_000;
/**
 * A turn gets a signal at most after this share of its age, per process. Each signal adds events to its history, which
 * Temporal ends at 51,200: a turn that waits for a day gets some 1,300 signals.
 */
const SHARE_OF_AGE = 1 / 200;

const due = new Set<string>();

/**
 * Shows in the Temporal UI which messages wait for an open turn and behind it: once for the changes of a short time, and
 * without waiting. A signal that is lost costs nothing else.
 */
export function showWaiting(deps: ShowDeps, turnId: string): void {
  if (due.has(turnId)) return;
  due.add(turnId);
  const pauseMs = Math.max(MIN_PAUSE_MS, (Date.now() - createdAt(turnId)) * SHARE_OF_AGE);
  sleep(pauseMs, undefined, { ref: false })
    .finally(() => due.delete(turnId))
    .then(() => signalWaiting(deps, turnId))
    .catch((err: unknown) => deps.log.debug({ err, turn_id: turnId }, 'the Temporal UI does not show what waits'));
}

async function signalWaiting({ db, workflows }: ShowDeps, turnId: string): Promise<void> {
  const [waiting] = await runSql<WaitingMessages>(
    db,
    sql`SELECT count(w.id) FILTER (WHERE steers = number)::integer AS steering,
          count(w.id) FILTER (WHERE steers <> number)::integer AS queued
        FROM turns LEFT JOIN waiting_messages w ON w.session_id = turns.session_id
        WHERE turns.id = ${turnId} AND ${rawSql(OPEN)} GROUP BY turns.id`,
  );
  if (waiting !== undefined) await workflows.signalWaiting(turnId, waiting);
}
