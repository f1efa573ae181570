import type { Logger } from '../platform/logger.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';

/** Signals the workflow of a turn that answers are stored. If the signal is lost, the reconciler sends it again. */
export function signalAnswers(
  { workflows, log }: { workflows: Pick<TurnWorkflows, 'signalAnswers'>; log: Logger },
  turnId: string,
): void {
  workflows
    .signalAnswers(turnId)
    .catch((err: unknown) =>
      log.warn({ err, turn_id: turnId }, 'a signal did not reach Temporal; the reconciler tries again'),
    );
}
