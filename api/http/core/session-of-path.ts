import { ServiceError } from '../../../src/platform/errors.js';
import { findSession } from '../../../src/sessions/store.js';
import { resourceOfPath } from './resource.js';

/** Finds the session in the path. @throws ServiceError `session_not_found` */
export const sessionOfPath = resourceOfPath('session_id', findSession, sessionNotFound);

/** One error for a session that is missing, deleted or in another project. */
export function sessionNotFound(): never {
  throw new ServiceError('session_not_found', 'There is no such session.');
}
