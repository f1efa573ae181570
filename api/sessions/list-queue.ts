import { waitingMessageSchema } from '../../src/events/schema.js';
import { invalidCursor, pageOf } from '../../src/platform/page.js';
import type { SessionState } from '../../src/sessions/store.js';
import { listWaiting } from '../../src/waiting/store.js';
import { operation } from '../http/core/operation.js';
import { pageRequest, pageSchema } from '../http/core/page.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import { presentWaiting } from './send-message.js';

export const listQueue = operation<undefined, SessionState>({
  id: 'listQueue',
  summary: 'List the messages that wait, in order of delivery',
  paged: true,
  success: { status: 200, description: 'A page of messages.', schema: pageSchema(waitingMessageSchema) },
  errors: ['session_not_found'],
  resource: sessionStateOfPath,
  async handle({ deps, query, resource: session }) {
    const list = `queue of ${session.id}`;
    const { limit, after } = pageRequest(query, list, 2);
    const place = after === null ? null : { steers: numberOf(after[0]!), arrival: numberOf(after[1]!) };
    const waiting = await listWaiting(deps.db, session.id, place, limit);
    return pageOf(list, waiting, ({ steers, arrival }) => [String(steers), String(arrival)], presentWaiting);
  },
});

function numberOf(key: string): number {
  if (!/^\d{1,15}$/.test(key)) throw invalidCursor();
  return Number(key);
}
