import { ServiceError } from '../../src/platform/errors.js';
import { findSession } from '../../src/sessions/store.js';
import { resourceOfPath } from './resource.js';

/** The session that the path names. @throws ServiceError `session_not_found` */
export const sessionOfPath = resourceOfPath('session_id', findSession, sessionNotFound);

/** Missing, deleted or of another project: one answer. */
export function sessionNotFound(): never {
  throw new ServiceError('session_not_found', 'There is no such session.');
}
