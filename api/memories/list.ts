import { listMemories as readMemories } from '../../src/memories/store.js';
import { operation } from '../http/core/operation.js';
import { filteredList, newestPage, pageSchema } from '../http/core/page.js';
import { memorySchema, presentMemory } from './present.js';

export const listMemories = operation({
  id: 'listMemories',
  summary: 'List memories, newest first',
  description: 'Shows whose memories there are, and how large each is.',
  query: {
    type: 'object',
    properties: {
      user: { type: 'string', description: 'Only those of this user, with whatever agent.' },
      agent_id: { type: 'string', description: 'Only those of this agent, with whatever user.' },
    },
  },
  paged: true,
  success: { status: 200, description: 'A page of memories.', schema: pageSchema(memorySchema) },
  errors: [],
  handle: ({ deps, caller, query }) => {
    const { user, agent_id } = query;
    const filter = { user, agent_id };
    return newestPage(
      query,
      filteredList('memories', filter),
      (page) => readMemories(deps.db, caller.projectId, filter, page),
      presentMemory,
    );
  },
});
