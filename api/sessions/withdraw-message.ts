import type { SessionState } from '../../src/sessions/store.js';
import { withdraw } from '../../src/waiting/store.js';
import { operation } from '../http/core/operation.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';

export const withdrawMessage = operation<undefined, SessionState>({
  id: 'withdrawMessage',
  summary: 'Withdraw a waiting message',
  success: { status: 204, description: 'Withdrawn: it will never be delivered.' },
  errors: ['session_not_found', 'message_not_found', 'message_delivered'],
  resource: sessionStateOfPath,
  handle: ({ deps, resource, params }) => withdraw(deps.db, resource.id, params.event_id!),
});
