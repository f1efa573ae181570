import {
  agentNotFound,
  findAgent,
  findAgentState,
  findVersion,
  versionNotFound,
  type AgentVersion,
} from '../../src/agents/store.js';
import { resourceOfPath, type PathOf } from '../http/core/resource.js';

export const agentOfPath = resourceOfPath('agent_id', findAgent, agentNotFound);

/** As `agentOfPath`, for operations that need no configuration. */
export const agentStateOfPath = resourceOfPath('agent_id', findAgentState, agentNotFound);

/** @throws ServiceError `agent_not_found`, `agent_version_not_found` */
export async function versionOfPath(path: PathOf): Promise<AgentVersion> {
  const agent = await agentStateOfPath(path);
  const { version = '' } = path.params;
  // Numbers as the service writes them: from 1, without zeros before.
  const number = /^[1-9]\d{0,8}$/.test(version) ? Number(version) : versionNotFound();
  return (await findVersion(path.deps.db, agent.id, number)) ?? versionNotFound();
}
