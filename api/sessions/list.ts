import { pageOf } from '../../src/platform/page.js';
import { listActiveSessions, listSessions as findSessions } from '../../src/sessions/list.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, newestPage, pageSchema } from '../http/core/page.js';
import { filterOf, filterSchema, listName } from './filter.js';
import { presentSession, sessionSchema } from './present.js';

export const listSessions = operation({
  id: 'listSessions',
  summary: 'List sessions, newest first or by last activity',
  description:
    'Finds conversations: by a text, status, creation time, metadata, or because they wait for an answer. All filters must match.',
  paged: true,
  query: filterSchema,
  success: { status: 200, description: 'A page of sessions.', schema: pageSchema(sessionSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const filter = filterOf(query);
    const list = listName(filter, query.order);
    if (query.order === 'activity') {
      const page = await listActiveSessions(deps.db, caller.projectId, newestFirst(query, list), filter);
      return pageOf(list, page, ({ active_at, id }) => [active_at, id], presentSession);
    }
    return newestPage(query, list, (page) => findSessions(deps.db, caller.projectId, page, filter), presentSession);
  },
});
