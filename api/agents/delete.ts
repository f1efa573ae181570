import { transaction } from '../../src/db/transaction.js';
import { agentNotFound, deleteAgent as removeAgent } from '../../src/agents/store.js';
import { operation } from '../http/core/operation.js';
import { agentStateOfPath } from './resource.js';

export const deleteAgent = operation({
  id: 'deleteAgent',
  summary: 'Delete an agent: no new session can be made of it, and its name is free again',
  description: 'Sessions keep what they have. Those that follow the agent keep the version that is live now.',
  success: { status: 204, description: 'Deleted.' },
  errors: ['agent_not_found'],
  resource: agentStateOfPath,
  async handle({ deps, resource, record }) {
    await transaction(deps.db, async (tx) => {
      if (!(await removeAgent(tx, resource.id))) agentNotFound();
      await record(tx);
    });
  },
});
