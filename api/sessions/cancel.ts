import type { Db } from '../../src/db/db.js';
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
    const find = (db: Db) => findSession(db, caller.projectId, resource.id);
    const cancelled = turnId === null ? null : await cancelTurn({ ...deps, log }, turnId, find);
    return presentSessionTo(caller, cancelled ?? (await find(deps.db)) ?? sessionNotFound());
  },
});
