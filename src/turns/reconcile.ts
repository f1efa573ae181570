import pLimit from 'p-limit';
import type { DataSource } from 'typeorm';
import type { Notifier } from '../events/notify.js';
import type { Logger } from '../platform/logger.js';
import type { TurnWorkflows, WorkflowState } from '../temporal/turn-workflows.js';
import { endTurn } from './finish.js';
import type { TurnOutcome } from './outcome.js';
import { OPEN } from './states.js';

const INTERVAL_MS = 2000;
/** A turn without a sign of life for that long is looked at: seen within 10 s of anything that happened to it. */
const STALE_SECONDS = 5;
const MAX_TURNS = 100;
/** Turns that wait for answers: a look at times, whether their workflow is still there, is all they need. */
const MAX_WAITING_TURNS = 20;
const PARALLEL = 8;
/** A cancel that nobody carried out by then is carried out here, worker or not: 20 s is the promise. */
const CANCEL_OVERDUE_SECONDS = 15;

export interface ReconcileDeps {
  db: DataSource;
  notifier: Notifier;
  workflows: TurnWorkflows;
  log: Logger;
  /** Counts what the sweep did, by action. */
  count: (action: string) => void;
}

interface StaleTurn {
  id: string;
  session_id: string;
  project_id: string;
  model_id: string;
  trace: string | null;
  cancel_requested: boolean;
  may_wait: boolean;
  /** It has open calls. */
  waits: boolean;
  /** Answers are stored that its workflow has not taken. */
  has_answers: boolean;
}

/** What the end of a workflow that left its turn open means for the turn (architecture.md "A turn is never lost"). */
const OUTCOME_OF: Partial<Record<WorkflowState, TurnOutcome>> = {
  terminated: {
    kind: 'failed',
    type: 'terminated',
    message: 'The turn was terminated by an operator.',
    retryable: true,
  },
  'timed out': {
    kind: 'failed',
    type: 'turn_timeout',
    message: 'The turn took longer than a turn may.',
    retryable: true,
  },
  failed: {
    kind: 'failed',
    type: 'internal_error',
    message: 'The turn failed for an internal reason.',
    retryable: true,
  },
  cancelled: { kind: 'cancelled' },
};

/**
 * Looks after open turns that show no sign of life: starts the ones whose workflow never started, vanished or thinks it
 * is complete, delivers cancels, ends the ones whose workflow is gone. Every process runs it; `SKIP LOCKED` and the
 * moved `progress_at` give each turn to one of them at a time. Returns a function that stops it after the round under
 * way.
 */
export function startReconciler(deps: ReconcileDeps): () => Promise<void> {
  // Two loops: an end that is due must not wait for a Temporal that is away.
  const stops = [repeat(deps.log, () => reconcileOnce(deps)), repeat(deps.log, () => cancelOverdue(deps))];
  return async () => void (await Promise.all(stops.map((stop) => stop())));
}

/** Runs rounds, one after the other; returns a function that stops after the one under way. */
function repeat(log: Logger, round: () => Promise<void>): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout;
  let underWay: Promise<void> = Promise.resolve();
  const next = (): void => {
    if (stopped) return;
    // Not all processes at the same moment.
    timer = setTimeout(
      () => {
        underWay = round()
          .catch((err: unknown) => log.warn({ err }, 'a round of the sweep failed, the next one follows'))
          .then(next);
      },
      INTERVAL_MS * (0.75 + Math.random() / 2),
    );
  };
  next();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await underWay;
  };
}

/** One round of looking at quiet turns. */
export async function reconcileOnce(deps: ReconcileDeps): Promise<void> {
  const [turns]: [StaleTurn[]] = await deps.db.query(
    `WITH stale AS (${selectStale('waiting_started_at IS NULL', MAX_TURNS)}),
     waiting AS (${selectStale('waiting_started_at IS NOT NULL', MAX_WAITING_TURNS)}),
     chosen AS (SELECT id FROM stale UNION ALL SELECT id FROM waiting)
     UPDATE turns SET progress_at = clock_timestamp()
     FROM chosen, sessions WHERE turns.id = chosen.id AND sessions.id = turns.session_id
     RETURNING turns.id, turns.session_id, turns.project_id, model_id, turns.trace,
       cancel_requested_at IS NOT NULL AS cancel_requested, json_array_length(sessions.tools) > 0 AS may_wait,
       EXISTS (SELECT FROM required_actions a WHERE a.turn_id = turns.id AND a.state = 'open') AS waits,
       EXISTS (SELECT FROM required_actions a
               WHERE a.turn_id = turns.id AND answered_at IS NOT NULL AND taken_at IS NULL) AS has_answers`,
  );
  const limit = pLimit(PARALLEL);
  await Promise.all(
    turns.map((turn) =>
      limit(() =>
        reconcileTurn(deps, turn).catch((err: unknown) =>
          deps.log.warn({ err, turn_id: turn.id }, 'the sweep could not look after a turn, it tries again'),
        ),
      ),
    ),
  );
}

function selectStale(condition: string, limit: number): string {
  return `SELECT id FROM turns
    WHERE ${OPEN} AND ${condition} AND progress_at < statement_timestamp() - interval '${STALE_SECONDS} s'
      -- A turn that streams does not touch its row: its deltas are the sign of life.
      AND NOT EXISTS (SELECT FROM deltas WHERE turn_id = turns.id
        AND stored_at > statement_timestamp() - interval '${STALE_SECONDS} s')
    ORDER BY progress_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED`;
}

/** Ends the turns whose cancel nobody carried out in time; their workflows are told without waiting for Temporal. */
export async function cancelOverdue(deps: ReconcileDeps): Promise<void> {
  const { db, workflows, log, count } = deps;
  const overdue: { id: string }[] = await db.query(
    `SELECT id FROM turns WHERE ${OPEN}
       AND cancel_requested_at < clock_timestamp() - interval '${CANCEL_OVERDUE_SECONDS} s'`,
  );
  for (const { id } of overdue) {
    if (!(await endTurn(deps, id, { kind: 'cancelled' }))) continue;
    count('cancelled');
    log.warn({ turn_id: id }, 'the sweep cancelled a turn that nobody else did');
    workflows
      .cancel(id)
      .catch((err: unknown) => log.warn({ err, turn_id: id }, 'a cancel did not reach Temporal; its turn has ended'));
  }
}

async function reconcileTurn(deps: ReconcileDeps, turn: StaleTurn): Promise<void> {
  const { workflows, log, count } = deps;
  const state = await workflows.describe(turn.id);
  if (state === 'running' || state === 'waiting') {
    if (turn.cancel_requested) {
      await workflows.cancel(turn.id);
      count('cancel_delivered');
    } else if (turn.has_answers || (state === 'waiting' && !turn.waits)) {
      // A signal was lost, or the tables were restored and know nothing of the wait: the workflow reads them again.
      await workflows.signalAnswers(turn.id);
      count('answers_signalled');
    }
    return;
  }
  // A workflow that is complete knew of more than the tables: they were restored from a backup, and what they hold counts.
  const again = state === 'completed' && (await isStillOpen(deps.db, turn.id));
  if (state === 'not found' || again) {
    await workflows.start(turn, { again });
    if (turn.cancel_requested) await workflows.cancel(turn.id);
    count('started');
    log.warn({ turn_id: turn.id }, 'the sweep started the workflow of a turn');
    return;
  }
  const ending = OUTCOME_OF[state];
  if (ending !== undefined && (await endTurn(deps, turn.id, ending))) {
    count('ended');
    log.warn({ turn_id: turn.id, workflow: state }, 'the sweep ended a turn whose workflow is over');
  }
}

async function isStillOpen(db: DataSource, turnId: string): Promise<boolean> {
  const rows: unknown[] = await db.query(`SELECT FROM turns WHERE id = $1 AND ${OPEN}`, [turnId]);
  return rows.length > 0;
}
