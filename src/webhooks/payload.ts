import { objectSchema } from '../platform/object-schema.js';
import { TEST_EVENT_TYPE, WEBHOOK_EVENT_TYPES } from './event-types.js';

const metadata = {
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Metadata of the session at the time of the event; empty in `webhook.test`.',
} as const;

function payloadOf<const Type extends object, const Id extends object>(type: Type, id: Id) {
  return objectSchema({
    type,
    timestamp: { type: 'string', format: 'date-time', description: 'When the event happened.' },
    data: objectSchema({ session_id: id, turn_id: id, event_id: id, metadata }),
  });
}

/** The body of a delivery (contract.md §7): it names the event and holds no content. */
export const payloadSchema = {
  $id: 'WebhookPayload',
  type: 'object',
  oneOf: [
    payloadOf({ enum: WEBHOOK_EVENT_TYPES }, { type: 'string' }),
    payloadOf({ const: TEST_EVENT_TYPE }, { type: 'null' }),
  ],
} as const;
