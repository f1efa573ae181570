import { ServiceError } from '../../src/platform/errors.js';
import { findSession, type Session } from '../../src/sessions/store.js';
import type { Call } from './operation.js';

/** The session that the path names. @throws ServiceError `session_not_found` */
export async function sessionOfPath({
  deps,
  caller,
  params,
}: Pick<Call, 'deps' | 'caller' | 'params'>): Promise<Session> {
  return (await findSession(deps.db, caller.projectId, params.session_id!)) ?? sessionNotFound();
}

/** Missing, deleted or of another project: one answer. */
export function sessionNotFound(): never {
  throw new ServiceError('session_not_found', 'There is no such session.');
}
