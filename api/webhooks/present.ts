import { objectSchema } from '../../src/platform/object-schema.js';
import { DELIVERY_STATES } from '../../src/webhooks/deliveries.js';
import { WEBHOOK_EVENT_TYPES } from '../../src/webhooks/event-types.js';
import { presented, timestamp, timestampOrNull } from '../http/core/presenter.js';

const properties = {
  id: { type: 'string', pattern: '^whk_' },
  url: { type: 'string' },
  event_types: { type: 'array', items: { type: 'string', enum: WEBHOOK_EVENT_TYPES } },
  description: { type: ['string', 'null'] },
  enabled: { type: 'boolean' },
  disabled_reason: {
    type: ['string', 'null'],
    description: 'Why the service disabled it; null if it is enabled, or if a client disabled it.',
  },
  created_at: timestamp,
  updated_at: timestamp,
} as const;

/** The webhook resource (contract.md §7), without its secret. */
export const { schema: webhookSchema, present: presentWebhook } = presented('Webhook', properties);

/** The resource with its secret: only in the responses of creation and rotation. */
export const { schema: webhookWithSecretSchema } = presented('WebhookWithSecret', {
  ...properties,
  secret: {
    type: 'string',
    pattern: '^whsec_',
    description: 'Verifies the signatures. Shown only in this response.',
  },
});

const attempt = objectSchema({
  at: timestamp,
  status: { type: ['integer', 'null'], description: 'HTTP status; null without a response.' },
  error: { type: ['string', 'null'], description: 'Why it failed; null for a success.' },
  duration_ms: { type: 'integer' },
});

export const { schema: deliverySchema, present: presentDelivery } = presented('WebhookDelivery', {
  id: { type: 'string', pattern: '^dlv_', description: 'Sent as `webhook-id` with every attempt.' },
  event_type: { type: 'string', enum: [...WEBHOOK_EVENT_TYPES, 'webhook.test'] },
  event_id: { type: ['string', 'null'], description: 'Null for `webhook.test`.' },
  state: { type: 'string', enum: DELIVERY_STATES },
  attempts: { type: 'array', items: attempt, description: 'Oldest first; the latest 50.' },
  next_attempt_at: timestampOrNull,
  created_at: timestamp,
});
