import { ServiceError } from '../../src/platform/errors.js';
import { eventJson, readHistory } from '../../src/events/store.js';
import { JsonText } from '../../src/platform/json-text.js';
import { pageOf } from '../../src/platform/page.js';
import type { SessionState } from '../../src/sessions/store.js';
import { operation } from '../http/core/operation.js';
import { pageRequest, pageSchema } from '../http/core/page.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import { eventSchema } from '../../src/events/schema.js';

/** Events of all turns, oldest first, including the events so far of a running turn. */
export const listEvents = operation<undefined, SessionState>({
  id: 'listEvents',
  summary: 'Read the event history of a session',
  paged: true,
  success: { status: 200, description: 'A page of events, oldest first.', schema: pageSchema(eventSchema) },
  errors: ['session_not_found', 'invalid_cursor'],
  resource: sessionStateOfPath,
  async handle({ deps, query, resource: session }) {
    const list = `events of ${session.id}`;
    const { limit, after } = pageRequest(query, list, 2);
    const rows = await readHistory(deps.db, session.id, after === null ? [0, 0] : numbersOf(after), limit);
    return pageOf(
      list,
      rows,
      (row) => [String(row.turn_number), String(row.position)],
      (row) => new JsonText(eventJson(row)),
    );
  },
});

function numbersOf(key: string[]): [number, number] {
  if (!key.every((part) => /^\d{1,9}$/.test(part))) {
    throw new ServiceError(
      'invalid_cursor',
      'The cursor is malformed. Pass meta.next_cursor of the previous page unchanged.',
    );
  }
  return [Number(key[0]), Number(key[1])];
}
