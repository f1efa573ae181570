import { transaction } from '../../src/db/transaction.js';
import { findSession, lockSession, type Session } from '../../src/sessions/store.js';
import { requestCancel } from '../../src/turns/cancel.js';
import { observeOutcome } from '../../src/turns/outcome.js';
import { isOpen } from '../../src/turns/states.js';
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
    const { session, turn } = await transaction(deps.db, async (tx) => {
      const locked = (await lockSession(tx, caller.projectId, resource.id)) ?? sessionNotFound();
      const turn = locked.last_turn_id === null ? null : await requestCancel(tx, locked.last_turn_id);
      const session = (await findSession(tx, caller.projectId, locked.id)) ?? sessionNotFound();
      return { session, turn };
    });
    if (turn !== null) {
      if (!isOpen(turn.state)) deps.notifier.notify(turn);
      observeOutcome(turn, log);
      // The wish is recorded: when this does not arrive, the sweep delivers it or ends the turn itself.
      deps.workflows
        .cancel(turn.id)
        .catch((err: unknown) =>
          log.warn({ err, turn_id: turn.id }, 'a cancel did not reach Temporal, the sweep follows'),
        );
    }
    return presentSession(session);
  },
});
