import { webhookEventType } from '../../src/webhooks/payload.js';
import type { JsonSchema } from '../http/core/operation.js';

export const urlField = {
  type: 'string',
  maxLength: 2048,
  description: 'Where deliveries are sent: https, at a public address.',
} as const satisfies JsonSchema;

export const eventTypesField = {
  type: 'array',
  items: webhookEventType,
  minItems: 1,
  uniqueItems: true,
  description: 'The types of events that are sent.',
} as const satisfies JsonSchema;

export const descriptionField = {
  type: ['string', 'null'],
  maxLength: 1000,
  description: 'Your own note about the webhook.',
} as const satisfies JsonSchema;

export const enabledField = {
  type: 'boolean',
  description: 'A disabled webhook receives nothing; events of that time are not sent later.',
} as const satisfies JsonSchema;
