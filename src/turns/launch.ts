import type { Logger } from '../platform/logger.js';
import type { Notifier } from '../stream/notify.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import type { QueuedTurn } from './open.js';

export interface LaunchDeps {
  log: Logger;
  notifier: Notifier;
  workflows: Pick<TurnWorkflows, 'start' | 'namespace'>;
}

/** Runs after the transaction, without waiting. If the workflow does not start now, the reconciler starts it. */
export function launchTurn(deps: LaunchDeps, turn: QueuedTurn): void {
  // Streams may wait for the next turn of the session.
  deps.notifier.notify({ ...turn, position: 1 });
  deps.log.info({ turn_id: turn.id, session_id: turn.sessionId }, 'turn queued');
  deps.workflows
    .start(turn)
    .catch((err: unknown) =>
      deps.log.warn({ err, turn_id: turn.id }, 'a turn could not be started yet; the reconciler tries again'),
    );
}
