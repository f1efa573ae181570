import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import pLimit from 'p-limit';
import { eraseStep, type EraseDeps } from '../../src/erasures/erase.js';
import { isDatabaseAway } from '../../src/db/transaction.js';
import { ServiceError } from '../../src/platform/errors.js';
import type { ErasureActivities } from './erasure-activities.js';

const BEAT_MS = 2000;
/** How long a step erases, so that the erasures of all projects go on beside each other. */
const STEP_MS = 2000;

/** The activities of erasures; the worker of turns runs them, too. */
export function createErasureActivities(deps: EraseDeps): ErasureActivities {
  // One step at a time: erasing uses the pool for background work, and leaves the others to the leader and maintenance.
  const limit = pLimit(1);
  return {
    async erase({ erasureId }) {
      const { heartbeat, cancellationSignal: signal, cancellationDetails } = activity();
      const beat = setInterval(heartbeat, BEAT_MS);
      try {
        return await limit(() => {
          signal.throwIfAborted();
          return eraseStep(deps, erasureId, STEP_MS, signal);
        });
      } catch (err) {
        if (signal.aborted)
          throw cancellationDetails()?.cancelRequested === true
            ? new CancelledFailure('cancelled')
            : ApplicationFailure.retryable('The worker shuts down.', 'HandedOver');
        const away = isDatabaseAway(err) || (err instanceof ServiceError && err.type === 'storage_error');
        deps.log.warn({ err, erasure_id: erasureId }, 'a step of an erasure failed; it is tried again');
        // A fixed text, because an error message may quote content, and histories must not contain content.
        throw ApplicationFailure.retryable(
          away ? 'Postgres or the storage is away.' : 'The worker’s log has the reason under the erasure’s id.',
          away ? 'Away' : 'ErasureFailed',
        );
      } finally {
        clearInterval(beat);
      }
    },
  };
}

function activity() {
  const context = Context.current();
  return {
    heartbeat: () => context.heartbeat(),
    cancellationSignal: context.cancellationSignal,
    cancellationDetails: () => context.cancellationDetails,
  };
}
