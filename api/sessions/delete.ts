import { transaction } from '../../src/db/transaction.js';
import { isOpen } from '../../src/db/turn-states.js';
import { parseActions, sessionRunning } from '../../src/sessions/required-actions.js';
import { lockSession, softDeleteSession } from '../../src/sessions/store.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import { notifyDeletedSessions } from '../../src/sessions/deleted-sessions.js';
import { operation } from '../http/core/operation.js';
import { sessionNotFound, sessionStateOfPath } from '../http/core/session-of-path.js';

export const deleteSession = operation({
  id: 'deleteSession',
  summary: 'Delete a session and its events permanently',
  description:
    'Removes the session, its turns, its events and its child sessions; files stay. Cancel an open turn first.',
  success: { status: 204, description: 'Deleted.' },
  errors: ['session_not_found', 'session_running', 'child_session'],
  resource: sessionStateOfPath,
  async handle({ deps, caller, resource, record }) {
    refuseChild(resource);
    const deleted = await transaction(deps.db, async (tx) => {
      const session = (await lockSession(tx, caller.projectId, resource.id)) ?? sessionNotFound();
      if (session.turn_state !== null && isOpen(session.turn_state)) {
        throw sessionRunning(parseActions(session.required_actions));
      }
      await record(tx);
      return softDeleteSession(tx, session.id);
    });
    // After the commit: a notification in a transaction makes all others wait for its commit.
    await notifyDeletedSessions(deps.db, deleted);
  },
});
