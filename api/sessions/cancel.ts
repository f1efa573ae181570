import { findSession, type Session } from '../../src/sessions/store.js';
import { requestCancel } from '../../src/turns/cancel.js';
import { operation } from '../http/operation.js';
import { sessionNotFound, sessionOfPath } from '../http/session-of-path.js';
import { presentSession, sessionSchema } from './present.js';

/** Cancels the turn in progress, if there is one; may be repeated (spec.md "States and transitions"). */
export const cancelTurn = operation<undefined, Session>({
  id: 'cancelTurn',
  summary: 'Cancel the turn in progress',
  success: { status: 200, description: 'The session as it is.', schema: sessionSchema },
  errors: ['session_not_found'],
  resource: sessionOfPath,
  async handle({ deps, caller, resource, log }) {
    const turnId = resource.last_turn_id;
    if (turnId !== null && (await requestCancel({ ...deps, log }, turnId)) !== null) {
      // The request is recorded: if Temporal does not get it now, the reconciler delivers it or ends the turn itself.
      deps.workflows
        .cancel(turnId)
        .catch((err: unknown) =>
          log.warn({ err, turn_id: turnId }, 'a cancel did not reach Temporal, the reconciler follows'),
        );
    }
    return presentSession((await findSession(deps.db, caller.projectId, resource.id)) ?? sessionNotFound());
  },
});
