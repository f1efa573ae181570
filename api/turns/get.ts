import { ServiceError } from '../../src/platform/errors.js';
import { findTurnOfSession } from '../../src/turns/find-turns.js';
import { operation } from '../http/core/operation.js';
import { sessionNotFound } from '../http/core/session-of-path.js';
import { presentTurn, turnSchema } from './present.js';

export const getTurn = operation({
  id: 'getTurn',
  summary: 'Get a turn: its status, its outcome and its last message',
  description: 'Shows how a turn ended: use it where you do not follow the stream.',
  success: { status: 200, description: 'The turn.', schema: turnSchema },
  errors: ['session_not_found', 'turn_not_found'],
  async resource({ deps, caller, params }) {
    const found = await findTurnOfSession(deps.db, caller.projectId, params.session_id!, params.turn_id!);
    const { turn } = found ?? sessionNotFound();
    if (turn === null) throw new ServiceError('turn_not_found', 'The session has no such turn.');
    return turn;
  },
  handle: async ({ resource }) => presentTurn(resource),
});
