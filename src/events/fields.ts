import type { FromSchema } from 'json-schema-to-ts';
import { objectSchema } from '../platform/object-schema.js';

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' } as const;
/** Any JSON object. Without `additionalProperties` the client's type would be an object without fields. */
export const anyObject = { type: 'object', additionalProperties: true } as const;
export const count = { type: 'integer', minimum: 0 } as const;
const millis = { type: ['integer', 'null'], minimum: 0 } as const;

export const file = objectSchema({ id: text, filename: text, mime_type: text, size_bytes: count });
export const skill = objectSchema({ id: text, name: text, description: text });

/** An amount of money: a decimal number without an exponent. */
export const money = objectSchema({ amount: text, currency: text });
export type Money = FromSchema<typeof money>;

const usage = objectSchema({ input_tokens: count, output_tokens: count });
const usageDetails = objectSchema(
  {
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    model_calls: count,
    cost: {
      ...money,
      type: ['object', 'null'],
      description: 'What the model calls cost; null if one of their models has no price.',
    },
  },
  {
    estimated: {
      const: true,
      type: 'boolean',
      description:
        'Present if the server of a model did not report all usage, as for an answer that was cut off: the missing tokens are estimated, and cost as if they were reported.',
    },
  },
);
const timing = {
  ...objectSchema({
    queued_ms: millis,
    connect_ms: millis,
    first_token_ms: millis,
    model_ms: millis,
    tools_ms: millis,
    waiting_ms: millis,
    total_ms: count,
  }),
  description:
    'Milliseconds; null for a phase that never happened. first_token_ms and total_ms count from the message; waiting_ms is the time spent waiting for answers.',
} as const;

/** Usage and timing of a turn: a part of every terminal event. */
export const spent = {
  usage: {
    ...usage,
    type: ['object', 'null'],
    description: 'input_tokens counts all input, cache reads and writes included; null when the turn never ran.',
  },
  usage_details: { ...usageDetails, type: ['object', 'null'] },
  timing,
} as const;

export const STOP_REASONS = ['end_turn', 'max_steps', 'max_output_tokens', 'refusal', 'budget_reached'] as const;
/** Failures of a model that is away, or refuses a request. */
export const MODEL_FAILURE_TYPES = [
  'model_error',
  'model_overloaded',
  'model_rate_limited',
  'context_too_long',
] as const;
/** The failures after which a turn goes on with a fallback model. */
export const FALLBACK_REASONS = ['model_error', 'model_overloaded', 'model_rate_limited'] as const;
const TURN_FAILURE_TYPES = [...MODEL_FAILURE_TYPES, 'turn_timeout', 'terminated', 'internal_error'] as const;

export const turnError = objectSchema({ type: { enum: TURN_FAILURE_TYPES }, message: text, retryable: flag });

/** A file as recorded in a message or a delivery. */
export type FileSnapshot = FromSchema<typeof file>;
export type SkillSnapshot = FromSchema<typeof skill>;
export type Usage = FromSchema<typeof usage>;
export type UsageDetails = FromSchema<typeof usageDetails>;
export type Timing = FromSchema<typeof timing>;
/** Why a turn completed (contract.md §3 `turn.completed`). */
export type StopReason = (typeof STOP_REASONS)[number];
/** Why a turn failed (contract.md §3 `turn.failed`). */
export type TurnFailureType = (typeof TURN_FAILURE_TYPES)[number];

const expiresAt = { type: 'string', format: 'date-time' } as const;
const question = { type: { const: 'elicitation' }, elicitation_id: text, tool_use_id: text, name: text } as const;

/**
 * What waits for an answer: a call (contract.md §6), a model call that does not fit into the session's budget (§10), or a
 * question that an MCP server asks during a call (§11).
 */
export const requiredAction = {
  $id: 'RequiredAction',
  type: 'object',
  required: ['type'],
  oneOf: [
    {
      title: 'tool_call',
      ...objectSchema({
        type: { enum: ['tool_confirmation', 'custom_tool_result'] },
        tool_use_id: text,
        name: text,
        input: anyObject,
        expires_at: expiresAt,
      }),
    },
    {
      title: 'budget',
      ...objectSchema({
        type: { const: 'budget' },
        spent: { ...money, description: 'What the session has spent.' },
        max_cost: { ...money, description: 'PATCH the session with a larger one, or another budget.' },
        expires_at: expiresAt,
      }),
    },
    {
      title: 'form',
      ...objectSchema({
        ...question,
        mode: { const: 'form' },
        message: text,
        requested_schema: { ...anyObject, description: 'A flat JSON Schema of the answer’s content.' },
        expires_at: expiresAt,
      }),
    },
    {
      title: 'url',
      ...objectSchema({
        ...question,
        mode: { const: 'url' },
        message: text,
        url: { type: 'string', description: 'For the person to open. The service never opens it.' },
        expires_at: expiresAt,
      }),
    },
  ],
} as const;
