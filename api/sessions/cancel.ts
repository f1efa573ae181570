import { findSession } from '../../src/sessions/store.js';
import { cancelTurn } from '../../src/turns/cancel.js';
import { operation } from '../http/core/operation.js';
import { sessionNotFound, sessionStateOfPath } from '../http/core/session-of-path.js';
import { presentSessionTo, sessionSchema } from './present.js';

export const cancelSessionTurn = operation({
  id: 'cancelTurn',
  summary: 'Cancel the open turn',
  description:
    'Ends the open turn: a queued one at once, a running one at its next step, usually within seconds. Without an open turn it changes nothing, so it can be repeated.',
  success: { status: 200, description: 'The session.', schema: sessionSchema },
  errors: ['session_not_found'],
  resource: sessionStateOfPath,
  async handle({ deps, caller, resource, log }) {
    const turnId = resource.last_turn_id;
    if (turnId !== null) await cancelTurn({ ...deps, log }, turnId);
    return presentSessionTo(caller, (await findSession(deps.db, caller.projectId, resource.id)) ?? sessionNotFound());
  },
});
