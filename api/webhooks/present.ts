import { described, objectSchema } from '../../src/platform/object-schema.js';
import { count, flag, idField, idOrNull, text, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import { DELIVERY_STATES } from '../../src/webhooks/deliveries.js';
import { TEST_EVENT_TYPE, WEBHOOK_EVENT_TYPES } from '../../src/webhooks/event-types.js';
import { webhookEventType } from '../../src/webhooks/payload.js';
import { presented } from '../http/core/presenter.js';

const properties = {
  id: idField('webhook', 'Id of the webhook.'),
  url: described(text, 'Where deliveries are sent.'),
  event_types: { type: 'array', items: webhookEventType, description: 'The types of events that are sent.' },
  description: { type: ['string', 'null'], description: 'Your own note about the webhook.' },
  enabled: described(flag, 'A disabled webhook receives nothing; events of that time are not sent later.'),
  disabled_reason: {
    type: ['string', 'null'],
    description: 'Why the service disabled it; null if it is enabled, or if a client disabled it.',
  },
  created_at: described(timestamp, 'When it was created.'),
  updated_at: described(timestamp, 'When it was last changed.'),
} as const;

const example = {
  id: 'whk_01kag8v3w4e5r6t7y8u9i0o1p2',
  url: 'https://example.com/agent-events',
  event_types: ['turn.completed', 'turn.failed'],
  description: null,
  enabled: true,
  disabled_reason: null,
  created_at: '2026-11-21T09:30:00.000001Z',
  updated_at: '2026-11-21T09:30:00.000001Z',
};

/** The webhook resource (decisions.md "Webhooks"), without its secret. */
export const { schema: webhookSchema, present: presentWebhook } = presented(
  'Webhook',
  'An address that is told about events.',
  properties,
  example,
);

/** The resource with its secret: only in the responses of creation and rotation. */
export const { schema: webhookWithSecretSchema } = presented(
  'WebhookWithSecret',
  'A webhook with its secret.',
  {
    ...properties,
    secret: {
      type: 'string',
      pattern: '^whsec_',
      description: 'Verifies the signatures. Shown only in this response.',
    },
  },
  { ...example, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' },
);

const attempt = {
  $id: 'DeliveryAttempt',
  description: 'An attempt to send a delivery.',
  ...objectSchema({
    at: described(timestamp, 'When it began.'),
    status: { type: ['integer', 'null'], format: 'int32', description: 'HTTP status; null without a response.' },
    error: { type: ['string', 'null'], description: 'Why it failed; null for a success.' },
    duration_ms: described(count, 'How long it took, in milliseconds.'),
  }),
};

export const deliveryState = {
  $id: 'DeliveryState',
  type: 'string',
  enum: DELIVERY_STATES,
  description: '`pending`: another attempt follows. `delivered`: the receiver answered with 2xx. `failed`: given up.',
} as const;

export const { schema: deliverySchema, present: presentDelivery } = presented(
  'WebhookDelivery',
  'What is sent to a webhook for one event, with its attempts.',
  {
    id: idField('delivery', 'Sent as `webhook-id` with every attempt.'),
    event_type: {
      $id: 'DeliveredEventType',
      type: 'string',
      enum: [...WEBHOOK_EVENT_TYPES, TEST_EVENT_TYPE],
      description: 'The type of its event; `webhook.test` for a test.',
    },
    event_id: idOrNull('event', 'Id of its event; null for `webhook.test`.'),
    session_id: idOrNull('session', 'Id of the event’s session; null for `webhook.test`.'),
    turn_id: idOrNull('turn', 'Id of the event’s turn; null for `webhook.test`.'),
    state: deliveryState,
    attempts: { type: 'array', items: attempt, description: 'Oldest first; the latest 50.' },
    next_attempt_at: described(timestampOrNull, 'When the next attempt is made; null if none follows.'),
    created_at: described(timestamp, 'When it was created.'),
  },
  {
    id: 'dlv_01kag8z5m2n3b4v5c6x7z8a9s0',
    event_type: 'turn.completed',
    event_id: 'evt_01kag8z5k2j3h4g5f6d7s8a9p0',
    session_id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
    turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
    state: 'delivered',
    attempts: [{ at: '2026-11-21T09:48:09.800001Z', status: 204, error: null, duration_ms: 41 }],
    next_attempt_at: null,
    created_at: '2026-11-21T09:48:09.700001Z',
  },
);
