import { ServiceError } from '../../src/platform/errors.js';
import { findTurnOfSession, type FoundTurn } from '../../src/turns/find-turns.js';
import type { Call } from '../http/core/operation.js';
import { sessionNotFound } from '../http/core/session-of-path.js';

/** The turn in an operation's path. @throws ServiceError session_not_found, turn_not_found */
export async function turnOfPath({
  deps,
  caller,
  params,
}: Pick<Call, 'deps' | 'caller' | 'params'>): Promise<FoundTurn> {
  const found = await findTurnOfSession(deps.db, caller.projectId, params.session_id!, params.turn_id!);
  const { turn } = found ?? sessionNotFound();
  if (turn === null) throw new ServiceError('turn_not_found', 'The session has no such turn.');
  return turn;
}
