import { withdraw } from '../../src/messages/queue.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import { operation } from '../http/core/operation.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';

export const withdrawMessage = operation({
  id: 'withdrawMessage',
  summary: 'Withdraw a waiting message',
  description: 'Removes a waiting message before the agent gets it.',
  success: { status: 204, description: 'Withdrawn: it will never be delivered.' },
  errors: ['session_not_found', 'child_session', 'message_not_found', 'message_delivered'],
  resource: sessionStateOfPath,
  async handle({ deps, resource: session, params }) {
    refuseChild(session);
    await withdraw(deps.db, session.id, params.event_id!);
  },
});
