import { operation } from '../http/core/operation.js';
import { agentSchema, presentAgent } from './present.js';
import { agentOfPath } from './resource.js';

export const getAgent = operation({
  id: 'getAgent',
  summary: 'Get an agent',
  description: 'Shows the agent with the configuration of its newest version, which need not be live.',
  success: { status: 200, description: 'The agent.', schema: agentSchema },
  errors: ['agent_not_found'],
  resource: agentOfPath,
  handle: async ({ resource }) => presentAgent(resource),
});
