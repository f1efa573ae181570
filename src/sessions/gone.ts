import { ServiceError } from '../platform/errors.js';

/** @throws ServiceError session_not_found */
export function sessionGone(sessionId: string): never {
  throw new ServiceError('session_not_found', `There is no session ${sessionId}.`);
}
