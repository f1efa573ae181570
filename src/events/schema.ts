import type { FromSchema } from 'json-schema-to-ts';
import { described } from '../platform/object-schema.js';
import { idField, timestamp } from '../platform/schema-fields.js';
import { EVENT_DESCRIPTIONS, ownFields } from './own-fields.js';

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
    id: idField('event', 'Id of the event.'),
    type: { const: type },
    turn_id: idField('turn', 'Id of its turn.'),
    created_at: described(timestamp, 'When it was stored.'),
  };
  return {
    $id: `${componentName(type)}Event`,
    description: EVENT_DESCRIPTIONS[type],
    type: 'object',
    properties: { ...common, ...properties },
    required: [...Object.keys(common), ...required],
    additionalProperties: false,
  };
}

/** `agent.tool_use` → `AgentToolUse`. */
function componentName(type: string): string {
  return type
    .split(/[._]/)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('');
}

export const unionOf = (id: string, description: string, oneOf: object[]) => ({
  $id: id,
  description,
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf,
});

const storedEvents = Object.fromEntries(STORED_EVENT_TYPES.map((type) => [type, storedEventSchema(type)])) as Record<
  StoredEventType,
  ReturnType<typeof storedEventSchema>
>;
export const storedEventSchemas = Object.values(storedEvents);

export const eventSchema = {
  ...unionOf(
    'Event',
    'A stored event of a turn. New types may appear: ignore those that you do not know.',
    storedEventSchemas,
  ),
  examples: [
    {
      id: 'evt_01kag8z3c5v6b7n8m9k0j1h2g3',
      type: 'agent.message',
      turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
      created_at: '2026-11-21T09:48:08.112233Z',
      message_id: 'msg_01kag8z1q2w3e4r5t6y7u8i9p0',
      content: 'Two orders are late: 4711 and 4712.',
    },
  ],
};

const userMessage = storedEvents['user.message'];
const userMessageExample = {
  id: 'evt_01kag8z0d7k8q3r0t6y9h4j7m2',
  type: 'user.message',
  turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
  created_at: '2026-11-21T09:48:04.000111Z',
  content: 'Which orders are late?',
  files: [],
  skills: [],
};
const messageState = {
  $id: 'WaitingState',
  type: 'string',
  enum: ['queued', 'steering'],
  description: '`queued`: starts its own turn after the open one. `steering`: the open turn’s next model call gets it.',
} as const;

/** The response of POST messages. */
export const userMessageSchema = {
  ...userMessage,
  $id: 'SentMessage',
  description: 'The `user.message` event of the message that was sent.',
  properties: { ...userMessage.properties, state: described(messageState, 'Only while the message waits.') },
  examples: [userMessageExample],
};

export const waitingMessageSchema = {
  ...userMessage,
  $id: 'WaitingMessage',
  description: 'A message that waits while a turn is open.',
  properties: { ...userMessage.properties, state: messageState },
  required: [...userMessage.required, 'state'],
  examples: [{ ...userMessageExample, state: 'queued' }],
};

/** The response of POST continue. */
export const turnContinuedSchema = storedEvents['turn.continued'];

export const answerEventSchema = unionOf('AnswerEvent', 'A stored answer.', [
  storedEvents['user.tool_confirmation'],
  storedEvents['user.custom_tool_result'],
  storedEvents['user.elicitation_result'],
]);
