import type { MemoryTool } from '../db/entities/sessions.js';

/** Whose memory an entry of `tools` gives: the user's, the agent's, that of the user with the agent, or the project's. */
export type MemoryKind = MemoryTool['of'];
export const MEMORY_KINDS = ['user', 'agent', 'agent_user', 'project'] as const satisfies MemoryKind[];

/** Whose memory it is; null for what it is not of. A memory of the project has neither. */
export interface MemoryOwner {
  projectId: string;
  user: string | null;
  agentId: string | null;
}

/**
 * Whose memory a session reaches by an entry of this kind; null if the session lacks what the kind needs. Nothing else decides it: not
 * what a model writes, and not what a client says after the session was made.
 * @param session its project, its user and its agent; null for what it has not
 */
export function ownerOf(kind: MemoryKind, { projectId, user, agentId }: MemoryOwner): MemoryOwner | null {
  const needsUser = kind === 'user' || kind === 'agent_user';
  const needsAgent = kind === 'agent' || kind === 'agent_user';
  if ((needsUser && user === null) || (needsAgent && agentId === null)) return null;
  return { projectId, user: needsUser ? user : null, agentId: needsAgent ? agentId : null };
}
