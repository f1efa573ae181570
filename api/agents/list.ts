import { listAgents as readAgents } from '../../src/agents/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { filteredList, newestPage, pageSchema } from '../http/core/page.js';
import { agentSchema, presentAgent } from './present.js';

const query = {
  type: 'object',
  properties: { name: { type: 'string', description: 'Only the agent of this name.' } },
} as const satisfies JsonSchema;

export const listAgents = operation({
  id: 'listAgents',
  summary: 'List agents, newest first',
  description: 'Shows the agents of the project with the configuration of their newest version.',
  paged: true,
  query,
  success: { status: 200, description: 'A page of agents.', schema: pageSchema(agentSchema) },
  errors: [],
  handle: ({ deps, caller, query }) => {
    const { name } = query;
    const list = name === undefined ? 'agents' : filteredList('agents', name);
    return newestPage(query, list, (page) => readAgents(deps.db, caller.projectId, page, name), presentAgent);
  },
});
