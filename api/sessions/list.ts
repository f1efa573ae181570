import { pageOf } from '../../src/platform/page.js';
import { listSessions as findSessions } from '../../src/sessions/store.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, pageSchema } from '../http/core/page.js';
import { presentSession, sessionSchema } from './present.js';

export const listSessions = operation({
  id: 'listSessions',
  summary: 'List sessions, newest first',
  paged: true,
  query: {
    type: 'object',
    properties: {
      requires_action: {
        type: 'string',
        enum: ['true', 'false'],
        description: 'true: only sessions whose turn waits for an answer; false: only the others.',
      },
    },
  },
  success: { status: 200, description: 'A page of sessions.', schema: pageSchema(sessionSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const { requires_action } = query;
    const list = requires_action === undefined ? 'sessions' : `sessions requires_action=${requires_action}`;
    const request = newestFirst(query, list);
    const requiresAction = requires_action === undefined ? null : requires_action === 'true';
    const sessions = await findSessions(deps.db, caller.projectId, request, requiresAction);
    return pageOf(list, sessions, ({ created_at, id }) => [created_at, id], presentSession);
  },
});
