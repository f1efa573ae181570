import { ServiceError } from '../platform/errors.js';

/**
 * A child session is one whose agent was called by the agent of another session, its parent (decisions.md "Agents that call agents").
 * Whatever treats it unlike other sessions asks here.
 */
interface MaybeChild {
  parent_session_id: string | null;
}

export function isChild<Session extends MaybeChild>(
  session: Session,
): session is Session & { parent_session_id: string } {
  return session.parent_session_id !== null;
}

/** SQL that is true for a child session. `session` is its row. */
export function isChildRow(session: string): string {
  return `${session}.parent_session_id IS NOT NULL`;
}

/**
 * SQL for the session that a session of a client stands for: itself, or the parent of a child session. Usage, files, the limits of
 * session tokens and required actions of a child count there.
 */
export function ownerOf(session: string): string {
  return `coalesce(${session}.parent_session_id, ${session}.id)`;
}

/** Refuses what only the parent decides: a child session gets its messages from the agent of the parent. @throws ServiceError child_session */
export function refuseChild(session: MaybeChild): void {
  if (!isChild(session)) return;
  throw new ServiceError(
    'child_session',
    `This session belongs to the agent of ${session.parent_session_id}, which called it. Send the request to that session.`,
  );
}
