import type { CallPlace } from '../../src/turns/facts.js';
import type { ActivityDeps } from '../deps.js';

/**
 * Shows in Temporal that a call waits for a person, or no longer. A signal that is lost costs nothing else: the turn is not
 * found by `WaitsFor`, or is found until the call ends.
 */
export async function showAsking(
  { workflows, log }: Pick<ActivityDeps, 'workflows' | 'log'>,
  { turnId, step, index }: CallPlace,
  asks: boolean,
): Promise<void> {
  await workflows
    .signalAsking(turnId, { step, index, asks })
    .catch((err: unknown) =>
      log.debug({ err, turn_id: turnId }, 'Temporal does not show that a call waits for a person'),
    );
}
