import pLimit from 'p-limit';
import { rawSql, runSql, sql } from '../db/sql.js';
import { isWaiting } from '../sessions/required-actions.js';
import type { Round } from '../platform/rounds.js';
import { isTemporalAway } from '../temporal/deadline.js';
import { checkAgain } from '../workers/check-again.js';
import type { ReconcileDeps } from './deps.js';
import { endOverdueTurn, isOverdue, reconcileTurn, STALE_TURN, type StaleTurn } from './repair.js';

/** A turn is checked when it has made no progress for this long. If it is healthy, the next check comes after twice the time. */
const STALE_SECONDS = 5;
const MAX_CHECK_INTERVAL_SECONDS = 300;
/** Time between checks of a turn that waits for answers: its workflow may have vanished. */
const MAX_WAITING_CHECK_INTERVAL_SECONDS = 600;
export const MAX_TURNS = 1000;
const PARALLEL = 64;
/** Questions with which a round begins: a Temporal that answers none of them is not asked further. */
const PROBES = 4;

/** SQL condition: the next round should check this open turn. */
export const IS_DUE = `
  progress_at < statement_timestamp() - interval '${STALE_SECONDS} s'
  AND (checked_at IS NULL OR statement_timestamp() - checked_at > least(
    checked_at - progress_at,
    CASE WHEN ${isWaiting('turns.id')} THEN interval '${MAX_WAITING_CHECK_INTERVAL_SECONDS} s'
      ELSE interval '${MAX_CHECK_INTERVAL_SECONDS} s' END))
  -- A turn that streams does not touch its row: its deltas are the sign of life.
  AND NOT EXISTS (SELECT FROM deltas WHERE turn_id = turns.id
    AND stored_at > statement_timestamp() - interval '${STALE_SECONDS} s')`;

/**
 * One round over the turns that have made no progress: first those whose workflow may never have started, then those whose
 * last check is the oldest. Returns whether there may be more.
 */
export async function reconcileStale(deps: ReconcileDeps): Promise<boolean> {
  const turns = await runSql<StaleTurn>(
    deps.db,
    sql`WITH stale AS (
          SELECT turn_id FROM open_turns JOIN turns ON turns.id = turn_id
          WHERE namespace = ${deps.workflows.namespace}
            AND ${rawSql(IS_DUE)}
          ORDER BY checked_at IS NULL AND state = 'queued' DESC, coalesce(checked_at, progress_at)
          LIMIT ${MAX_TURNS}::integer FOR UPDATE OF open_turns SKIP LOCKED),
        checked AS (
          UPDATE open_turns SET checked_at = statement_timestamp() FROM stale WHERE open_turns.turn_id = stale.turn_id
          RETURNING open_turns.turn_id)
        ${STALE_TURN} WHERE turns.id IN (SELECT turn_id FROM checked)
        ORDER BY open_turns.checked_at IS NULL AND turns.state = 'queued' DESC, progress_at`,
  );
  const { isTemporalUp } = await reconcileAll(deps, turns);
  return isTemporalUp && turns.length === MAX_TURNS;
}

/** Starts workflows that never started or vanished, and repairs what else holds a turn up. */
export const staleTurns: Round<ReconcileDeps> = {
  name: 'stale turns',
  everyMs: 2000,
  run: async (deps) => ((await reconcileStale(deps)) ? 0 : null),
};

/**
 * Checks turns in parallel. While Temporal is away, the round ends after a few questions, and the next round checks the remaining
 * turns. The first questions are about any turns, so that a few whose workflows do not answer hold up no others.
 */
export async function reconcileAll(deps: ReconcileDeps, turns: StaleTurn[]): Promise<{ isTemporalUp: boolean }> {
  const { db, log } = deps;
  const unreached: string[] = [];
  let isAway = false;
  let answered = 0;
  let reason: unknown;
  const reconcile = async (turn: StaleTurn): Promise<void> => {
    try {
      // First, because it needs no Temporal.
      if (await isOverdue(deps, turn)) await endOverdueTurn(deps, turn);
      else if (isAway || unreached.length >= PARALLEL) unreached.push(turn.id);
      else {
        await reconcileTurn(deps, turn);
        answered += 1;
      }
    } catch (err) {
      if (isTemporalAway(err)) {
        reason ??= err;
        unreached.push(turn.id);
      } else log.warn({ err, turn_id: turn.id }, 'a turn could not be reconciled; a later round tries again');
    }
  };
  const probes = sample(turns, PROBES);
  await pLimit(PROBES).map(probes, reconcile);
  isAway = unreached.length > 0 && answered === 0;
  const rest = turns.filter((turn) => !probes.includes(turn));
  await pLimit(PARALLEL).map(rest, reconcile);
  if (unreached.length > 0)
    log.warn({ err: reason, turns: unreached.length }, 'Temporal did not answer for turns; the next round asks again');
  await checkAgain(db, unreached);
  return { isTemporalUp: !isAway && unreached.length < PARALLEL };
}

function sample<T>(all: readonly T[], count: number): T[] {
  if (all.length <= count) return [...all];
  const start = Math.floor(Math.random() * all.length);
  return Array.from({ length: count }, (_, n) => all[(start + Math.floor((n * all.length) / count)) % all.length]!);
}
