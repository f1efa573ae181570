import { waitingMessageSchema } from '../../src/events/schema.js';
import { pageOf } from '../../src/platform/page.js';
import { listWaiting, type QueuePlace } from '../../src/messages/queue.js';
import { operation } from '../http/core/operation.js';
import { numbersOf, pageRequest, pageSchema } from '../http/core/page.js';
import { sessionStateOfPath } from '../http/core/session-of-path.js';
import { presentWaiting } from './send-message.js';

export const listQueue = operation({
  id: 'listQueue',
  summary: 'List the waiting messages in order of delivery',
  description: 'Shows the messages that were sent with `when_running` and have not reached the agent yet.',
  paged: true,
  success: { status: 200, description: 'A page of messages.', schema: pageSchema(waitingMessageSchema) },
  errors: ['session_not_found'],
  resource: sessionStateOfPath,
  async handle({ deps, query, resource: session }) {
    const list = `queue of ${session.id}`;
    const { limit, after } = pageRequest(query, list, 3);
    const waiting = await listWaiting(deps.db, session.id, after === null ? null : placeOf(after), limit);
    return pageOf(list, waiting, ({ place }) => [place.open, place.rank, place.arrival].map(String), presentWaiting);
  },
});

function placeOf(key: string[]): QueuePlace {
  const [open, rank, arrival] = numbersOf(key, 15) as [number, number, number];
  return { open, rank, arrival };
}
