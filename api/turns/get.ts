import { operation } from '../http/core/operation.js';
import { presentTurn, turnSchema } from './present.js';
import { turnOfPath } from './turn-of-path.js';

export const getTurn = operation({
  id: 'getTurn',
  summary: 'Get a turn: its status, its outcome and its last message',
  description: 'Shows how a turn ended: use it where you do not follow the stream.',
  success: { status: 200, description: 'The turn.', schema: turnSchema },
  errors: ['session_not_found', 'turn_not_found'],
  resource: turnOfPath,
  handle: async ({ resource, caller }) => presentTurn(caller, resource),
});
