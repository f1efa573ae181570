import { pageOf } from '../../src/platform/page.js';
import { listSessions as findSessions } from '../../src/sessions/store.js';
import { operation } from '../http/operation.js';
import { newestFirst, pageSchema } from '../http/page.js';
import { presentSession, sessionSchema } from './present.js';

export const listSessions = operation({
  id: 'listSessions',
  summary: 'List sessions, newest first',
  paged: true,
  success: { status: 200, description: 'A page of sessions.', schema: pageSchema(sessionSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const request = newestFirst(query, 'sessions');
    const sessions = await findSessions(deps.db, caller.projectId, request);
    return pageOf('sessions', sessions, request.limit, ({ created_at, id }) => [created_at, id], presentSession);
  },
});
