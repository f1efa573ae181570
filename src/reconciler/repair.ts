import type { TurnFields } from '../db/entities/turns.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { StartableTurn, WorkflowState } from '../temporal/turn-workflows.js';
import type { ReconcileDeps } from './deps.js';
import { takeOverUnrecorded } from '../workers/takeover.js';
import { failed, type TurnOutcome } from '../turns/outcome.js';
import { endTurn } from '../turns/end.js';
import { OPEN } from '../db/turn-states.js';
import { configurationOfTurn, MODEL_ID } from '../sessions/configured.js';
import { loadRunningMs } from '../turns/running-time.js';
import { stopReasonOnExpiry } from '../waits/advance.js';
import type { WaitType } from '../waits/store.js';

/** An open turn that is compared with its workflow. */
export interface StaleTurn extends Omit<StartableTurn, 'runningMs'>, Pick<TurnFields, 'state' | 'cancelRequested'> {
  queuedMs: number;
  /** How long ago it started; 0 before that. */
  startedMs: number;
  /** How long ago the first of its open calls expired; negative before that, null without one. */
  expiredMs: number | null;
  /** The reconciler has never checked it. */
  isUnseen: boolean;
  /** The kinds of its open waits that the workflow takes over. */
  waitsFor: WaitType[];
  /** It has stored answers that its workflow has not read. */
  hasAnswers: boolean;
}

export const STALE_TURN = rawSql(
  `SELECT turns.id, turns.session_id AS "sessionId", turns.project_id AS "projectId", coalesce(turns.model_id, ${MODEL_ID}) AS "modelId",
     cardinality(mcp_servers) AS "mcpServers", CASE WHEN turns.parent_turn_id IS NULL THEN c.agents ELSE 0 END AS agents, turns.trace, turns.state, open_turns.checked_at IS NULL AS "isUnseen",
     (extract(epoch FROM clock_timestamp() - queued_at) * 1000)::double precision AS "queuedMs",
     coalesce(extract(epoch FROM clock_timestamp() - started_at) * 1000, 0)::double precision AS "startedMs",
     (SELECT extract(epoch FROM clock_timestamp() - min(expires_at)) * 1000
      FROM waits w WHERE w.turn_id = turns.id AND w.state = 'open')::double precision AS "expiredMs",
     turns.cancel_requested_at IS NOT NULL AS "cancelRequested",
     array(SELECT kind FROM waits w WHERE w.turn_id = turns.id AND w.state = 'open' AND NOT w.during_call) AS "waitsFor",
     EXISTS (SELECT FROM waits w
             WHERE w.turn_id = turns.id AND w.state = 'closed' AND w.taken_at IS NULL AND NOT w.during_call) AS "hasAnswers"
   FROM open_turns JOIN turns ON turns.id = turn_id ${configurationOfTurn('turns')}`,
);

/** Outcome of an open turn by the way in which its workflow ended. */
const OUTCOME_OF: Partial<Record<WorkflowState, TurnOutcome>> = {
  terminated: failed('terminated'),
  'timed out': failed('turn_timeout'),
  failed: failed('internal_error'),
  cancelled: { kind: 'cancelled' },
};

/**
 * The workflow ends a turn at its time limit. If no worker can run the workflow (its build is gone, or no worker polls), the
 * reconciler ends the turn this much later: an outage of a minute must not fail a turn.
 */
const OVERDUE_MARGIN_MS = 120_000;
/** The same for calls that were not answered in time. Workers that return after an outage expire them themselves. */
const EXPIRED_MARGIN_MS = 3_600_000;

/** True if the turn has used up its time, queued or running, and its workflow has not ended it. */
export async function isOverdue({ db, turnTimeoutMs }: ReconcileDeps, turn: StaleTurn): Promise<boolean> {
  if ((turn.expiredMs ?? 0) > EXPIRED_MARGIN_MS) return true;
  const maxMs = turnTimeoutMs + OVERDUE_MARGIN_MS;
  if (turn.state === 'queued') return turn.queuedMs > maxMs;
  return turn.startedMs > maxMs && (await loadRunningMs(db, turn.id)) > maxMs;
}

/** Ends a turn that is over its time limit. Needs no Temporal. */
export async function endOverdueTurn(deps: ReconcileDeps, { id, waitsFor }: StaleTurn): Promise<void> {
  const stopReason = stopReasonOnExpiry(waitsFor);
  const outcome: TurnOutcome = stopReason === null ? OUTCOME_OF['timed out']! : { kind: 'completed', stopReason };
  if (!(await endTurn(deps, id, outcome))) return;
  deps.count('ended');
  deps.log.error({ turn_id: id }, 'the reconciler ended a turn whose workflow did not end it in time');
  const end = stopReason ?? 'turn_timeout';
  await deps.workflows.terminate(id, `no worker ended the turn in time; it has ended as ${end}`);
}

/** Compares an open turn with its workflow and repairs a difference. */
export async function reconcileTurn(deps: ReconcileDeps, turn: StaleTurn): Promise<void> {
  const { workflows, log, count } = deps;
  // If the workflow never started, one call is enough: the start fails if there is a workflow.
  if (
    turn.state === 'queued' &&
    turn.isUnseen &&
    (await workflows.start({ ...turn, runningMs: 0 }, { onlyNew: true }))
  ) {
    return afterStart(deps, turn);
  }
  const { state, started } = await workflows.describe(turn.id);
  if (state === 'running' || state === 'waiting') {
    await takeOverUnrecorded(deps, turn.id, started);
    // A signal was lost, or the tables were restored from before the wait: the workflow reads them again.
    if (turn.hasAnswers || (state === 'waiting' && turn.waitsFor.length === 0)) {
      await workflows.signalAnswers(turn.id);
      count('answers_signalled');
    }
    return;
  }
  if (state === 'stuck') {
    // A turn that waited can continue with any build, so a roll-back of the deploy saves it. Otherwise its time limit ends it.
    return turn.waitsFor.length > 0 || turn.hasAnswers ? undefined : endStuckTurn(deps, turn.id);
  }
  // The workflow completed but the turn is open: the tables were restored from an older backup, and the tables count.
  const again = state === 'completed' && (await isStillOpen(deps, turn.id));
  if (state === 'not found' || again) {
    await workflows.start({ ...turn, runningMs: await loadRunningMs(deps.db, turn.id) }, { again });
    return afterStart(deps, turn);
  }
  const outcome = OUTCOME_OF[state];
  if (outcome !== undefined && (await endTurn(deps, turn.id, outcome))) {
    count('ended');
    log.warn({ turn_id: turn.id, workflow: state }, 'the reconciler ended a turn whose workflow has ended');
  }
}

async function afterStart({ workflows, log, count }: ReconcileDeps, turn: StaleTurn): Promise<void> {
  if (turn.cancelRequested) await workflows.cancel(turn.id);
  count('started');
  log.warn({ turn_id: turn.id }, 'the reconciler started the workflow of a turn');
}

/** No worker can replay the workflow's history: a deploy changed the workflow without `patched`. */
async function endStuckTurn(deps: ReconcileDeps, turnId: string): Promise<void> {
  if (!(await endTurn(deps, turnId, OUTCOME_OF.failed!))) return;
  deps.count('ended');
  deps.log.error({ turn_id: turnId }, 'the reconciler ended a turn whose workflow task keeps failing');
  await deps.workflows.terminate(turnId, 'its workflow task kept failing; the turn has ended as internal_error');
}

async function isStillOpen({ db }: ReconcileDeps, turnId: string): Promise<boolean> {
  const rows = await runSql(db, sql`SELECT id FROM turns WHERE id = ${turnId} AND ${rawSql(OPEN)}`);
  return rows.length > 0;
}
