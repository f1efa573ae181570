import { eventSchema } from '../../src/events/schema.js';
import { findEvent } from '../../src/events/read-history.js';
import { eventJson, type EventRow } from '../../src/events/store.js';
import { ServiceError } from '../../src/platform/errors.js';
import { JsonText } from '../../src/platform/json-text.js';
import { operation } from '../http/core/operation.js';
import { sessionNotFound } from '../http/core/session-of-path.js';

export const getEvent = operation<undefined, EventRow>({
  id: 'getEvent',
  summary: 'Get a stored event',
  description: 'Shows one event, for example the one that a webhook names.',
  success: { status: 200, description: 'The event.', schema: eventSchema },
  errors: ['session_not_found', 'event_not_found'],
  async resource({ deps, caller, params }) {
    const found = await findEvent(deps.db, caller.projectId, params.session_id!, params.event_id!);
    const { event } = found ?? sessionNotFound();
    if (event === null) throw new ServiceError('event_not_found', 'The session has no such event.');
    return event;
  },
  handle: async ({ resource }) => new JsonText(eventJson(resource)),
});
