import { described, objectSchema } from '../platform/object-schema.js';
import { idField, timestamp } from '../platform/schema-fields.js';
import { TEST_EVENT_TYPE, WEBHOOK_EVENT_TYPES } from './event-types.js';

export const webhookEventType = {
  $id: 'WebhookEventType',
  type: 'string',
  enum: WEBHOOK_EVENT_TYPES,
  description: 'A type of events that a webhook can be told about.',
} as const;

const metadata = {
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Metadata of the session at the time of the event; empty in `webhook.test`.',
} as const;

const none = { type: 'null', description: 'Null: a test belongs to no event.' } as const;

function payloadOf<const Type extends object, const Data extends object>(type: Type, data: Data) {
  return objectSchema({ type, timestamp: described(timestamp, 'When the event happened.'), data });
}

/** The body of a delivery (decisions.md "Webhooks"): it names the event and holds no content. */
export const payloadSchema = {
  $id: 'WebhookPayload',
  description: 'The body of a request to a webhook. It names the event: read the content from the API.',
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    {
      $id: 'WebhookEventPayload',
      description: 'An event of a session has happened.',
      ...payloadOf(webhookEventType, {
        $id: 'WebhookEventData',
        description: 'Which event it is.',
        ...objectSchema({
          session_id: idField('session', 'Id of the session.'),
          turn_id: idField('turn', 'Id of the turn.'),
          event_id: idField('event', 'Id of the event.'),
          metadata,
        }),
      }),
    },
    {
      $id: 'WebhookTestPayload',
      description: 'A test that a client asked for.',
      ...payloadOf(
        { const: TEST_EVENT_TYPE },
        {
          $id: 'WebhookTestData',
          description: 'Empty: a test belongs to no event.',
          ...objectSchema({ session_id: none, turn_id: none, event_id: none, metadata }),
        },
      ),
    },
  ],
  examples: [
    {
      type: 'turn.completed',
      timestamp: '2026-11-21T09:48:09.654321Z',
      data: {
        session_id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
        turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
        event_id: 'evt_01kag8z5k2j3h4g5f6d7s8a9p0',
        metadata: { customer: '4711' },
      },
    },
  ],
} as const;
