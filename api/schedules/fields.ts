import { messageBody } from '../../src/messages/message.js';
import { newSessionBody } from '../../src/sessions/new-session.js';
import type { JsonSchema } from '../http/core/operation.js';

/** The body of POST sessions, and room for the rest. */
export const MAX_SCHEDULE_VALUES = 100_000;

export const nameField = { type: ['string', 'null'], minLength: 1, maxLength: 128 } as const satisfies JsonSchema;

export const cronField = {
  type: 'string',
  maxLength: 256,
  description:
    'Five fields: minute, hour, day of month, month, day of week. If both kinds of day are given, either matches.',
} as const satisfies JsonSchema;

export const atField = {
  type: 'string',
  maxLength: 64,
  description: 'A single time in the future: a timestamp with an offset, stored to the second.',
} as const satisfies JsonSchema;

export const timezoneField = {
  type: 'string',
  maxLength: 64,
  description: 'IANA time zone of `cron`.',
} as const satisfies JsonSchema;

export const messageField = {
  ...messageBody,
  description: 'The body of POST messages.',
} as const satisfies JsonSchema;

export const overlapField = {
  type: 'string',
  enum: ['skip', 'queue'],
  description: 'What to do if the session has an open turn.',
} as const satisfies JsonSchema;

export const endAtField = {
  type: ['string', 'null'],
  maxLength: 64,
  description: 'The last time, inclusive: a timestamp with an offset, stored to the second.',
} as const satisfies JsonSchema;

export const targetField = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['new_session', 'existing_session'] },
    session: { ...newSessionBody, description: 'For `new_session`: the body of POST sessions.' },
    session_id: { type: 'string', description: 'For `existing_session`.' },
  },
  required: ['type'],
  additionalProperties: false,
} as const satisfies JsonSchema;
