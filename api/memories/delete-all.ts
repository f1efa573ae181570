import { deleteMemoriesOfUser } from '../../src/memories/store.js';
import { USER_PATTERN } from '../../src/agents/new-session.js';
import { operation } from '../http/core/operation.js';

export const deleteMemories = operation({
  id: 'deleteMemories',
  summary: 'Erase all memories of a user',
  description:
    'Erases what agents keep of this person, with all versions, also when there is nothing. To erase everything of a person, begin an erasure.',
  query: {
    type: 'object',
    properties: {
      user: { type: 'string', pattern: USER_PATTERN, description: 'The person, as your back end names them.' },
    },
    required: ['user'],
  },
  success: { status: 204, description: 'Erased, or there was none.' },
  errors: ['validation_error'],
  async handle({ deps, caller: { projectId }, query, record }) {
    await deleteMemoriesOfUser(deps.db, projectId, query.user!, record);
  },
});
