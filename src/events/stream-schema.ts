import type { FromSchema } from 'json-schema-to-ts';
import { described, objectSchema } from '../platform/object-schema.js';
import { count, idField, text, timestamp } from '../platform/schema-fields.js';
import { MODEL_FAILURE_TYPES } from './fields.js';
import { messageId } from './own-fields.js';
import { STORED_EVENT_TYPES, storedEventSchemas, unionOf } from './schema.js';

const modelFailure = {
  $id: 'ModelFailureType',
  type: 'string',
  enum: MODEL_FAILURE_TYPES,
  description: 'Why a model call failed.',
} as const;

const turnId = idField('turn', 'Id of the turn.');

/** The data of a stream-only frame (decisions.md "Turns and events", "Data of a delta"). */
const deltaSchema = {
  $id: 'DeltaEvent',
  description: 'A fragment of text while the model writes it. The whole text follows as an event.',
  ...objectSchema({
    type: {
      $id: 'DeltaType',
      type: 'string',
      enum: ['agent.message.delta', 'agent.thinking.delta'],
      description: 'Whether the fragment is of a message or of thinking.',
    },
    turn_id: turnId,
    message_id: messageId,
    content: described(text, 'The fragment. Append it to those of the same message before it.'),
  }),
} as const;

/** Says that a model call failed and is tried again. */
const retrySchema = {
  $id: 'RetryEvent',
  description: 'A model call failed and is made again.',
  ...objectSchema({
    type: { const: 'agent.retry.delta' },
    turn_id: turnId,
    reason: modelFailure,
    attempt: { ...count, minimum: 1, description: 'Number of failures of the call so far.' },
    retry_at: described(timestamp, 'When the call is made again.'),
  }),
} as const;

type RetryEvent = FromSchema<typeof retrySchema>;
export type RetryNotice = Omit<RetryEvent, 'type' | 'turn_id'>;
/** The content of an `agent.retry.delta` is a `RetryNotice` as JSON. */
export type DeltaType = FromSchema<typeof deltaSchema>['type'] | RetryEvent['type'];

export const streamEventSchema = unionOf('StreamEvent', 'What the data of a frame holds: a stored event or a delta.', [
  ...storedEventSchemas,
  deltaSchema,
  retrySchema,
]);

/** One frame of the stream. `data` is a stored event or a delta as a JSON string. */
export const frameSchema = {
  $id: 'StreamFrame',
  description: 'One frame of the stream, with the fields of Server-Sent Events.',
  type: 'object',
  properties: {
    id: described(text, 'Send it as `Last-Event-ID` to continue after this frame.'),
    event: {
      $id: 'StreamEventType',
      type: 'string',
      enum: [...STORED_EVENT_TYPES, ...deltaSchema.properties.type.enum, 'agent.retry.delta'],
      description: 'The `type` of the event in `data`.',
    },
    data: {
      type: 'string',
      description: 'The event as JSON: a `StreamEvent`.',
      contentMediaType: 'application/json',
      contentSchema: streamEventSchema,
    },
  },
  required: ['id', 'event', 'data'],
};
