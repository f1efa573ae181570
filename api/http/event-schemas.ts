import type { JsonSchema } from './operation.js';

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const millis = { type: ['integer', 'null'], minimum: 0 } as const;

const file = {
  type: 'object',
  properties: { id: text, filename: text, mime_type: text, size_bytes: count },
  required: ['id', 'filename', 'mime_type', 'size_bytes'],
  additionalProperties: false,
} as const;

const skill = {
  type: 'object',
  properties: { id: text, name: text, description: text },
  required: ['id', 'name', 'description'],
  additionalProperties: false,
} as const;

const spent = {
  usage: {
    type: ['object', 'null'],
    description: 'input_tokens counts all input, cache reads and writes included; null when the turn never ran.',
    properties: { input_tokens: count, output_tokens: count },
    required: ['input_tokens', 'output_tokens'],
    additionalProperties: false,
  },
  usage_details: {
    type: ['object', 'null'],
    properties: { cache_read_input_tokens: count, cache_creation_input_tokens: count, model_calls: count },
    required: ['cache_read_input_tokens', 'cache_creation_input_tokens', 'model_calls'],
    additionalProperties: false,
  },
  timing: {
    type: 'object',
    description:
      'Milliseconds; null for a phase that never happened. first_token_ms and total_ms count from the message.',
    properties: {
      queued_ms: millis,
      connect_ms: millis,
      first_token_ms: millis,
      model_ms: millis,
      tools_ms: millis,
      total_ms: count,
    },
    required: ['queued_ms', 'connect_ms', 'first_token_ms', 'model_ms', 'tools_ms', 'total_ms'],
    additionalProperties: false,
  },
} as const;

const OWN_FIELDS: Record<string, { properties: JsonSchema; optional?: string[] }> = {
  'user.message': {
    properties: { content: text, files: { type: 'array', items: file }, skills: { type: 'array', items: skill } },
  },
  'agent.thinking': { properties: { message_id: text, content: text } },
  'agent.message': {
    properties: { message_id: text, content: text, incomplete: { const: true } },
    optional: ['incomplete'],
  },
  'agent.tool_use': { properties: { tool_use_id: text, name: text, input: { type: 'object' } } },
  'agent.tool_result': {
    properties: {
      tool_use_id: text,
      name: text,
      is_error: { type: 'boolean' },
      content: text,
      truncated: { const: true },
    },
    optional: ['truncated'],
  },
  'agent.file': { properties: { file } },
  'agent.mcp_error': { properties: { mcp_server_id: text, name: text, message: text } },
  'agent.context_compacted': { properties: { compacted_turns: count } },
  'turn.completed': {
    properties: { stop_reason: { enum: ['end_turn', 'max_steps', 'max_output_tokens', 'refusal'] }, ...spent },
  },
  'turn.cancelled': { properties: spent },
  'turn.failed': {
    properties: {
      error: {
        type: 'object',
        properties: {
          type: {
            enum: [
              'model_error',
              'model_overloaded',
              'model_rate_limited',
              'context_too_long',
              'turn_timeout',
              'terminated',
              'internal_error',
            ],
          },
          message: text,
          retryable: { type: 'boolean' },
        },
        required: ['type', 'message', 'retryable'],
        additionalProperties: false,
      },
      ...spent,
    },
  },
};

function schemaOf(type: string): JsonSchema {
  const { properties, optional = [] } = OWN_FIELDS[type]!;
  const all = {
    id: { type: 'string', pattern: '^evt_' },
    type: { const: type },
    turn_id: { type: 'string', pattern: '^turn_' },
    created_at: { type: 'string', format: 'date-time' },
    ...properties,
  };
  return {
    title: type,
    type: 'object',
    properties: all,
    required: Object.keys(all).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  };
}

/** A stored event (spec.md "Event", contract.md §3), told apart by `type`. */
export const eventSchema = {
  $id: 'Event',
  type: 'object',
  oneOf: Object.keys(OWN_FIELDS).map(schemaOf),
} satisfies JsonSchema;

/** A `user.message`, the answer of POST messages. */
export const userMessageSchema = { $id: 'UserMessageEvent', ...schemaOf('user.message') } satisfies JsonSchema;

/** The data of a stream-only frame. */
export const deltaSchema = {
  $id: 'DeltaEvent',
  type: 'object',
  properties: {
    type: { enum: ['agent.message.delta', 'agent.thinking.delta'] },
    turn_id: text,
    message_id: text,
    content: text,
  },
  required: ['type', 'turn_id', 'message_id', 'content'],
  additionalProperties: false,
} satisfies JsonSchema;
