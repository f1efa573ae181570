import type { Session } from '../../../client/src/index.js';
import type { Turn } from '../conversation/conversation-log.js';

/** The version of a session's workspace as the newest result of a tool names it; else the session's. */
export function workspaceVersion(session: Session, turns: readonly Turn[]): number {
  for (const { events } of turns.toReversed()) {
    const last = events.findLast((event) => event.type === 'agent.tool_result' && event.workspace !== undefined);
    if (last?.type === 'agent.tool_result') return last.workspace!.version;
  }
  return session.workspace!.version;
}
