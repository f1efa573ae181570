import { ServiceError } from '../../../src/platform/errors.js';
import { findSession, findSessionState } from '../../../src/sessions/store.js';
import { resourceOfPath } from './resource.js';

export const sessionOfPath = resourceOfPath('session_id', findSession, sessionNotFound);

/** As `sessionOfPath`, for operations that need no contents of the session: ids, and the state of its latest turn. */
export const sessionStateOfPath = resourceOfPath('session_id', findSessionState, sessionNotFound);

/** The same for operations that add to the session: it is not found once its user is being erased (docs/memory.md). */
export const openSessionOfPath = resourceOfPath(
  'session_id',
  async (db, projectId, id) => {
    const session = await findSessionState(db, projectId, id);
    return session?.is_erased === true ? null : session;
  },
  sessionNotFound,
);

export function sessionNotFound(): never {
  throw new ServiceError('session_not_found', 'There is no such session.');
}
