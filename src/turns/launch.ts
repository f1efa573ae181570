import { setTimeout as sleep } from 'node:timers/promises';
import type { Notifier } from '../stream/notify.js';
import type { StartableTurn, TurnWorkflows } from '../temporal/turn-workflows.js';
import { showWaiting, type ShowDeps } from './show-waiting.js';
import type { QueuedTurn } from './open.js';

/** Begins the first step of a turn before Temporal asks for it (activities/turn/run-ahead), or has another process do so. */
export interface Ahead {
  /** Never waits, and may do nothing: Temporal starts every turn. Returns the end of the step if it began in this process. */
  begin(turn: StartableTurn): Promise<unknown> | null;
}

export interface LaunchDeps extends ShowDeps {
  notifier: Notifier;
  workflows: Pick<TurnWorkflows, 'start' | 'namespace' | 'signalWaiting'>;
  ahead?: Ahead;
}

/**
 * A workflow's start takes the CPU that a first step in the same process needs to record its call. It does not wait for the
 * step's end: whoever sees the turn end finds its workflow.
 */
const START_DELAY_MS = 5;

/** Runs after the transaction, without waiting. If the workflow does not start now, the reconciler starts it. */
export function launchTurn(deps: LaunchDeps, turn: QueuedTurn): void {
  const step = deps.ahead?.begin(turn) ?? null;
  // Streams that wait for the first turn of the session. Any other stream reads the tables when it opens.
  if (turn.number === 1) deps.notifier.notify({ ...turn, position: 1 });
  deps.log.info({ turn_id: turn.id, session_id: turn.sessionId }, 'turn queued');
  const free = step === null ? Promise.resolve() : Promise.race([step, sleep(START_DELAY_MS)]);
  free
    .then(() => deps.workflows.start(turn))
    .then(() => turn.hasWaiting && showWaiting(deps, turn.id))
    .catch((err: unknown) =>
      deps.log.warn({ err, turn_id: turn.id }, 'a turn could not be started yet; the reconciler tries again'),
    );
}
