import { checkStorage } from '../../src/files/storage-limit.js';
import { refuseChild } from '../../src/sessions/child-session.js';
import { findSession } from '../../src/sessions/store.js';
import { launchTurn } from '../../src/turns/begin.js';
import { releaseQueue } from '../../src/messages/release.js';
import { operation } from '../http/core/operation.js';
import { sessionNotFound, openSessionOfPath } from '../http/core/session-of-path.js';
import { presentSessionTo, sessionSchema } from './present.js';

export const releaseSessionQueue = operation({
  id: 'releaseQueue',
  summary: 'Start the first message of a held queue',
  description:
    'After a turn that did not complete, the waiting messages are held. This starts the first of them; the others follow as usual.',
  success: { status: 200, description: 'The session, also if its queue was not held.', schema: sessionSchema },
  errors: ['session_not_found', 'child_session', 'too_many_running_turns', 'storage_limit_reached'],
  resource: openSessionOfPath,
  async handle({ deps, caller, resource, log }) {
    refuseChild(resource);
    checkStorage(resource.stored, deps.config.maxStoragePerProject);
    const turn = await releaseQueue(deps.db, caller.projectId, resource.id, deps.workflows.namespace);
    if (turn !== null) launchTurn({ ...deps, log }, turn);
    return presentSessionTo(caller, (await findSession(deps.db, caller.projectId, resource.id)) ?? sessionNotFound());
  },
});
