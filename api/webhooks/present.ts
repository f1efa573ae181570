import type { WebhookRow } from '../../src/db/entities/webhooks.js';
import { DELIVERY_STATES, type DeliveryRow } from '../../src/webhooks/deliveries.js';
import { WEBHOOK_EVENT_TYPES } from '../../src/webhooks/event-types.js';
import type { JsonSchema } from '../http/core/operation.js';

const timestamp = { type: 'string', format: 'date-time' } as const;

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

/** The webhook resource (contract.md §7). */
export const webhookSchema = {
  $id: 'Webhook',
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
} as const satisfies JsonSchema;

/** The resource with its secret: only in the responses of creation and rotation. */
export const webhookWithSecretSchema = {
  $id: 'WebhookWithSecret',
  type: 'object',
  properties: {
    ...properties,
    secret: {
      type: 'string',
      pattern: '^whsec_',
      description: 'Verifies the signatures. Shown only in this response.',
    },
  },
  required: [...Object.keys(properties), 'secret'],
  additionalProperties: false,
} as const satisfies JsonSchema;

/** The webhook as clients see it, without its secret. */
export function presentWebhook(webhook: WebhookRow): Record<string, unknown> {
  return {
    id: webhook.id,
    url: webhook.url,
    event_types: webhook.event_types,
    description: webhook.description,
    enabled: webhook.enabled,
    disabled_reason: webhook.disabled_reason,
    created_at: webhook.created_at,
    updated_at: webhook.updated_at,
  };
}

const attemptSchema = {
  type: 'object',
  properties: {
    at: timestamp,
    status: { type: ['integer', 'null'], description: 'HTTP status; null without a response.' },
    error: { type: ['string', 'null'], description: 'Why it failed; null for a success.' },
    duration_ms: { type: 'integer' },
  },
  required: ['at', 'status', 'error', 'duration_ms'],
  additionalProperties: false,
} as const;

/** A delivery (contract.md §7). */
export const deliverySchema = {
  $id: 'WebhookDelivery',
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^dlv_', description: 'Sent as `webhook-id` with every attempt.' },
    event_type: { type: 'string', enum: [...WEBHOOK_EVENT_TYPES, 'webhook.test'] },
    event_id: { type: ['string', 'null'], description: 'Null for `webhook.test`.' },
    state: { type: 'string', enum: DELIVERY_STATES },
    attempts: { type: 'array', items: attemptSchema, description: 'Oldest first; the latest 50.' },
    next_attempt_at: { type: ['string', 'null'], format: 'date-time' },
    created_at: timestamp,
  },
  required: ['id', 'event_type', 'event_id', 'state', 'attempts', 'next_attempt_at', 'created_at'],
  additionalProperties: false,
} as const satisfies JsonSchema;

export function presentDelivery(delivery: DeliveryRow): Record<string, unknown> {
  return {
    id: delivery.id,
    event_type: delivery.event_type,
    event_id: delivery.event_id,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: delivery.next_attempt_at,
    created_at: delivery.created_at,
  };
}
