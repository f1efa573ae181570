import type { FromSchema } from 'json-schema-to-ts';
import {
  anyObject,
  count,
  FALLBACK_REASONS,
  file,
  flag,
  MODEL_FAILURE_TYPES,
  requiredAction,
  skill,
  spent,
  STOP_REASONS,
  text,
  turnError,
} from './fields.js';
import { objectSchema } from '../platform/object-schema.js';

const actor = { type: ['string', 'null'], description: 'The actor in the answer; null without one.' } as const;

/**
 * The fields of every stored event type (contract.md §3). This is the only definition: the TypeScript
 * types and the OpenAPI document are derived from it.
 */
const ownFields = {
  'user.message': objectSchema(
    { content: text, files: { type: 'array', items: file }, skills: { type: 'array', items: skill } },
    {
      schedule_id: { type: 'string', description: 'Only in a message that a schedule sent.' },
      model_id: { type: 'string', description: 'The model of this message’s turn, if the message names one.' },
      thinking_enabled: { type: 'boolean', description: 'Thinking in this message’s turn, if the message sets it.' },
      delivered_at_step: {
        type: 'integer',
        minimum: 1,
        description: 'Number of the model call in the open turn that first got the message.',
      },
    },
  ),
  'turn.continued': objectSchema({ continues_turn_id: text }),
  'agent.thinking': objectSchema({ message_id: text, content: text }),
  'agent.message': objectSchema({ message_id: text, content: text }, { incomplete: { const: true } }),
  'user.tool_confirmation': objectSchema({
    tool_use_id: text,
    result: { enum: ['allow', 'deny'] },
    deny_message: { type: ['string', 'null'] },
    actor,
  }),
  'user.custom_tool_result': objectSchema({ tool_use_id: text, content: text, is_error: flag, actor }),
  'user.elicitation_result': objectSchema({
    elicitation_id: text,
    action: { enum: ['accept', 'decline', 'cancel'] },
    content: { type: ['object', 'null'], additionalProperties: true },
    actor,
  }),
  'agent.tool_use': objectSchema(
    { tool_use_id: text, name: text, input: anyObject },
    { evaluated_permission: { enum: ['allow', 'ask'], description: 'Only in sessions that have tools.' } },
  ),
  'agent.custom_tool_use': objectSchema({ tool_use_id: text, name: text, input: anyObject }),
  'agent.requires_action': objectSchema({ required_actions: { type: 'array', items: requiredAction } }),
  'agent.tool_progress': objectSchema({
    tool_use_id: text,
    name: text,
    status: { enum: ['working', 'input_required'] },
    message: { type: ['string', 'null'] },
  }),
  'agent.tool_result': objectSchema(
    { tool_use_id: text, name: text, is_error: flag, content: text },
    { truncated: { const: true } },
  ),
  'agent.file': objectSchema({ file }),
  'agent.mcp_error': objectSchema({ mcp_server_id: text, name: text, message: text }),
  'agent.context_compacted': objectSchema({ compacted_turns: count }),
  'agent.model_changed': objectSchema({ from: text, to: text, reason: { enum: FALLBACK_REASONS } }),
  'turn.completed': objectSchema({ stop_reason: { enum: STOP_REASONS }, ...spent }),
  'turn.cancelled': objectSchema(spent),
  'turn.failed': objectSchema({
    error: turnError,
    ...spent,
  }),
} as const;

type StoredEventType = keyof typeof ownFields;
export const STORED_EVENT_TYPES = Object.keys(ownFields) as StoredEventType[];

export type EventData = { [T in StoredEventType]: FromSchema<(typeof ownFields)[T]> };
export type NewEvent = { [T in StoredEventType]: { type: T; data: EventData[T] } }[StoredEventType];

/** Terminal events close a turn and its stream. */
export const TERMINAL_EVENTS: ReadonlySet<string> = new Set<StoredEventType>([
  'turn.completed',
  'turn.cancelled',
  'turn.failed',
]);

/** A stored event as clients get it: the common fields, then those of its type. */
function storedEventSchema(type: StoredEventType) {
  const { properties, required } = ownFields[type];
  const common = {
    id: { type: 'string', pattern: '^evt_' },
    type: { const: type },
    turn_id: { type: 'string', pattern: '^turn_' },
    created_at: { type: 'string', format: 'date-time' },
  };
  return {
    title: type,
    type: 'object',
    properties: { ...common, ...properties },
    required: [...Object.keys(common), ...required],
    additionalProperties: false,
  };
}

export const eventSchema = {
  $id: 'Event',
  type: 'object',
  oneOf: STORED_EVENT_TYPES.map(storedEventSchema),
};

const userMessage = storedEventSchema('user.message');

/** A `user.message`, the response of POST messages. */
export const userMessageSchema = {
  $id: 'UserMessageEvent',
  ...userMessage,
  properties: {
    ...userMessage.properties,
    state: { enum: ['queued', 'steering'], description: 'Only while the message waits (docs/contract.md §9).' },
  },
};

export const waitingMessageSchema = {
  ...userMessageSchema,
  $id: 'WaitingMessage',
  required: [...userMessage.required, 'state'],
};

/** The response of POST continue. */
export const turnContinuedSchema = { $id: 'TurnContinuedEvent', ...storedEventSchema('turn.continued') };

export const answerEventSchema = {
  $id: 'AnswerEvent',
  type: 'object',
  oneOf: [
    storedEventSchema('user.tool_confirmation'),
    storedEventSchema('user.custom_tool_result'),
    storedEventSchema('user.elicitation_result'),
  ],
};

/** The data of a stream-only frame (contract.md §3 "Data of a delta"). */
const deltaSchema = {
  $id: 'DeltaEvent',
  ...objectSchema({
    type: { enum: ['agent.message.delta', 'agent.thinking.delta'] },
    turn_id: text,
    message_id: text,
    content: text,
  }),
} as const;

/** Says that a model call failed and is tried again. */
const retrySchema = {
  $id: 'RetryEvent',
  ...objectSchema({
    type: { const: 'agent.retry.delta' },
    turn_id: text,
    reason: { enum: MODEL_FAILURE_TYPES },
    attempt: { ...count, minimum: 1, description: 'Number of failures of the call so far.' },
    retry_at: { type: 'string', format: 'date-time' },
  }),
} as const;

type RetryEvent = FromSchema<typeof retrySchema>;
export type RetryNotice = Omit<RetryEvent, 'type' | 'turn_id'>;
/** The content of an `agent.retry.delta` is a `RetryNotice` as JSON. */
export type DeltaType = FromSchema<typeof deltaSchema>['type'] | RetryEvent['type'];

/** One frame of the stream. `data` is a stored event or a delta as a JSON string. */
export const frameSchema = {
  $id: 'StreamFrame',
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Send it as `Last-Event-ID` to continue after this frame.' },
    event: { enum: [...STORED_EVENT_TYPES, ...deltaSchema.properties.type.enum, 'agent.retry.delta'] },
    data: {
      type: 'string',
      contentMediaType: 'application/json',
      contentSchema: { anyOf: [eventSchema, deltaSchema, retrySchema] },
    },
  },
  required: ['id', 'event', 'data'],
};
