import { WEBHOOK_EVENT_TYPES } from '../../src/webhooks/event-types.js';
import type { JsonSchema } from '../http/core/operation.js';

export const urlField = {
  type: 'string',
  maxLength: 2048,
  description: 'Where deliveries are sent: https, at a public address.',
} as const satisfies JsonSchema;

export const eventTypesField = {
  type: 'array',
  items: { type: 'string', enum: WEBHOOK_EVENT_TYPES },
  minItems: 1,
  uniqueItems: true,
} as const satisfies JsonSchema;

export const descriptionField = { type: ['string', 'null'], maxLength: 1000 } as const satisfies JsonSchema;

export const enabledField = {
  type: 'boolean',
  description: 'A disabled webhook receives nothing; events of that time are not sent later.',
} as const satisfies JsonSchema;
