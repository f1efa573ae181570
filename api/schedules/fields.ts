import { messageBody } from '../../src/messages/message.js';
import { newSessionBody } from '../../src/agents/new-session.js';
import { described, objectSchema, shownAs } from '../../src/platform/object-schema.js';
import { text } from '../../src/platform/schema-fields.js';
import { shownBudgetSchema } from '../../src/sessions/budget.js';
import type { JsonSchema } from '../http/core/operation.js';

/** The body of POST sessions, and room for the rest. */
export const MAX_SCHEDULE_VALUES = 100_000;

export const nameField = {
  type: ['string', 'null'],
  minLength: 1,
  maxLength: 128,
  description: 'Its name for people.',
} as const satisfies JsonSchema;

export const cronField = {
  type: 'string',
  maxLength: 256,
  description:
    'Five fields: minute, hour, day of month, month, day of week. If both kinds of day are given, either matches.',
} as const satisfies JsonSchema;

/** The check of the service takes more forms of a timestamp, and says more about a wrong one. */
function timeField<const Type extends 'string' | readonly ['string', 'null']>(type: Type, description: string) {
  const field = { type, maxLength: 64, description } as const;
  return shownAs(field, { ...field, format: 'date-time' });
}

export const atField = timeField(
  'string',
  'A single time in the future: a timestamp with an offset, stored to the second.',
);

export const timezoneField = {
  type: 'string',
  maxLength: 64,
  description: 'IANA time zone of `cron`.',
} as const satisfies JsonSchema;

export const messageField = described(messageBody, 'What is sent: the body of POST messages.');

export const overlapField = {
  $id: 'ScheduleOverlap',
  type: 'string',
  enum: ['skip', 'queue'],
  description: 'What to do if the session has an open turn. `skip`: nothing. `queue`: the message waits.',
} as const satisfies JsonSchema;

export const endAtField = timeField(
  ['string', 'null'],
  'The last time, inclusive: a timestamp with an offset, stored to the second.',
);

const targetOf = (session: object): JsonSchema => ({
  $id: 'ScheduleTarget',
  description: 'The session that gets the message.',
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    {
      $id: 'NewSessionTarget',
      description: 'A new session for each run.',
      ...objectSchema({ type: { const: 'new_session' }, session }),
    },
    {
      $id: 'ExistingSessionTarget',
      description: 'The same session each time.',
      ...objectSchema({
        type: { const: 'existing_session' },
        session_id: described(text, 'Id of the session.'),
      }),
    },
  ],
});

const session = described(newSessionBody, 'Its configuration: the body of POST sessions.');

export const targetField = shownAs(
  {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['new_session', 'existing_session'] },
      session,
      session_id: text,
    },
    required: ['type'],
    additionalProperties: false,
  },
  targetOf(session),
) satisfies JsonSchema;

/** The target in responses. */
export const shownTarget = targetOf({
  ...newSessionBody,
  $id: 'ScheduledSession',
  properties: { ...newSessionBody.properties, budget: shownBudgetSchema },
});
