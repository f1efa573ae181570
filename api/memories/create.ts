import type { FromSchema } from 'json-schema-to-ts';
import { agentNotFound, findAgentState } from '../../src/agents/store.js';
import { putMemory } from '../../src/memories/store.js';
import { USER_PATTERN } from '../../src/agents/new-session.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation } from '../http/core/operation.js';
import { memorySchema, presentMemory } from './present.js';

const body = {
  $id: 'NewMemory',
  description:
    'Whose memory it is: with both fields, that of the user with the agent; without any, that of the project.',
  type: 'object',
  properties: {
    user: {
      type: ['string', 'null'],
      pattern: USER_PATTERN,
      default: null,
      description: 'The user, as your back end names them: the `user` of their sessions.',
    },
    agent_id: { type: ['string', 'null'], default: null, description: 'The agent.' },
  },
  additionalProperties: false,
  examples: [{ user: 'jane@example.com' }],
} as const;

export const createMemory = operation<FromSchema<typeof body>>({
  id: 'createMemory',
  summary: 'Get or make the memory of an owner',
  description:
    'Answers the memory of this user, agent, or both, or of the project, and makes it when it is missing. An agent makes it by itself with the first file that it writes.',
  body,
  optionalBody: true,
  idempotent: true,
  success: { status: 201, description: 'The memory.', schema: memorySchema },
  errors: ['agent_not_found'],
  handle: (call) =>
    answerInTransaction(call, async (tx) => {
      const { projectId } = call.caller;
      const { user, agent_id: agentId } = call.body;
      if (agentId !== null && (await findAgentState(tx, projectId, agentId)) === null) agentNotFound();
      const owner = { projectId, user, agentId };
      return presentMemory(await putMemory(tx, owner));
    }),
});
