import { readHistory } from '../../src/events/read-history.js';
import { eventSchema } from '../../src/events/schema.js';
import { eventJson } from '../../src/events/store.js';
import { JsonText } from '../../src/platform/json-text.js';
import { pageOf } from '../../src/platform/page.js';
import type { SessionState } from '../../src/sessions/store.js';
import { operation } from '../http/core/operation.js';
import { numbersOf, pageRequest, pageSchema } from '../http/core/page.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import { filterOf, filterSchema, listName } from './filter.js';

export const listEvents = operation<undefined, SessionState>({
  id: 'listEvents',
  summary: 'List the events of a session, oldest first unless `order` is `desc`',
  description:
    'Reads the history: messages, tool calls, results and ends of turns. Fragments of texts are in the stream only.',
  paged: true,
  query: filterSchema,
  success: { status: 200, description: 'A page of events.', schema: pageSchema(eventSchema) },
  errors: ['session_not_found', 'invalid_cursor'],
  resource: sessionStateOfPath,
  async handle({ deps, query, resource: session }) {
    const filter = filterOf(query);
    const list = listName(session.id, filter);
    const { limit, after } = pageRequest(query, list, 2);
    const rows = await readHistory(deps.db, session.id, after && (numbersOf(after) as [number, number]), limit, filter);
    return pageOf(
      list,
      rows,
      (row) => [String(row.turn_number), String(row.position)],
      (row) => new JsonText(eventJson(row)),
    );
  },
});
