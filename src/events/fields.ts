import type { FromSchema } from 'json-schema-to-ts';
import { described, objectSchema, orNull } from '../platform/object-schema.js';
import { anyObject, count, flag, idField, text } from '../platform/schema-fields.js';

export const file = {
  $id: 'FileSnapshot',
  description: 'A file as it was when the event was stored. It stays as it is when the file is deleted later.',
  ...objectSchema({
    id: idField('file', 'Id of the file.'),
    filename: described(text, 'Its name with the extension.'),
    mime_type: described(text, 'Its media type, found from the extension of its name.'),
    size_bytes: described(count, 'Its size in bytes.'),
  }),
} as const;

export const skill = {
  $id: 'SkillSnapshot',
  description: 'A skill as it was when the message was sent.',
  ...objectSchema({
    id: idField('skill', 'Id of the skill.'),
    name: described(text, 'Its name.'),
    description: described(text, 'When the agent should use it, as its package says.'),
  }),
} as const;

export const money = {
  $id: 'Money',
  description: 'An amount of money.',
  ...objectSchema({
    amount: described(text, 'A decimal number without an exponent, such as `0.012345`.'),
    currency: described(text, 'The currency of the catalogue’s prices, such as `USD`.'),
  }),
} as const;
export type Money = FromSchema<typeof money>;

export const usage = {
  $id: 'Usage',
  description: 'The tokens of a turn’s model calls.',
  ...objectSchema({
    input_tokens: described(count, 'All input tokens, cache reads and writes included.'),
    output_tokens: described(count, 'All output tokens, thinking included.'),
  }),
} as const;

const usageDetails = {
  $id: 'UsageDetails',
  description: 'What the model calls of a turn took, in detail.',
  ...objectSchema(
    {
      cache_read_input_tokens: described(count, 'Input tokens that the model’s server read from its cache.'),
      cache_creation_input_tokens: described(count, 'Input tokens that the model’s server wrote to its cache.'),
      model_calls: described(count, 'Number of model calls.'),
      cost: orNull(money, 'What the model calls cost; null if one of their models has no price.'),
    },
    {
      delegated: {
        $id: 'DelegatedUsage',
        description:
          'What the turns of other agents took that this turn has begun. Present if it has begun any; the other fields leave them out.',
        ...objectSchema({
          turns: described(count, 'Number of these turns.'),
          model_calls: described(count, 'Number of their model calls.'),
          input_tokens: described(count, 'Their input tokens, cache reads and writes included.'),
          output_tokens: described(count, 'Their output tokens.'),
          cost: orNull(money, 'What their model calls cost; null if one of their models has no price.'),
        }),
      },
      estimated: {
        const: true,
        description:
          'Present if the server of a model did not report all usage, as for an answer that was cut off: the missing tokens are estimated, and cost as if they were reported.',
      },
    },
  ),
} as const;

const millis = { type: ['integer', 'null'], format: 'int64', minimum: 0 } as const;
const timing = {
  $id: 'TurnTiming',
  description: 'How long the phases of a turn took, in milliseconds; null for a phase that never happened.',
  ...objectSchema(
    {
      queued_ms: described(millis, 'From the message until a worker began the turn.'),
      connect_ms: described(millis, 'Connecting to the session’s MCP servers.'),
      first_token_ms: described(millis, 'From the message until the model’s first output.'),
      model_ms: described(millis, 'All model calls together.'),
      tools_ms: described(millis, 'All tool calls together.'),
      waiting_ms: described(millis, 'Waiting for answers.'),
      total_ms: described(count, 'From the message to the end of the turn.'),
    },
    {
      between_steps_ms: described(
        millis,
        'All other time: the service’s own work, its queues, and the pauses before a failed model call is made again. With the other phases it adds up to `total_ms`. Null for a turn that never ran; not there in a turn that ended before the service had this field.',
      ),
    },
  ),
} as const;

/** Usage and timing of a turn: a part of every terminal event. */
export const spent = {
  usage: orNull(usage, 'The tokens of the turn; null if the turn never ran.'),
  usage_details: orNull(usageDetails, 'Cache, calls and cost; null if the turn never ran.'),
  timing,
} as const;

export const STOP_REASONS = [
  'end_turn',
  'max_steps',
  'max_output_tokens',
  'refusal',
  'budget_reached',
  'output_invalid',
] as const;
export const stopReason = {
  $id: 'StopReason',
  type: 'string',
  enum: STOP_REASONS,
  description:
    'Why a turn completed. `end_turn`: the agent was done. `max_steps`: the turn reached its limit of model calls. `max_output_tokens`: the last answer was cut off. `refusal`: the model refused. `budget_reached`: the session’s budget does not allow another call. `output_invalid`: the agent gave no value that fits the turn’s `output_schema`.',
} as const;

/** The value of a turn with `output_schema` (decisions.md "Output schema"). */
export const output = {
  $id: 'TurnOutput',
  ...anyObject,
  type: ['object', 'null'],
  description:
    'The value that the agent gave, which fits the turn’s `output_schema`; null without a value. Only in turns with `output_schema`.',
} as const;

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

export const turnError = {
  $id: 'TurnError',
  description: 'Why a turn failed.',
  ...objectSchema({
    type: {
      $id: 'TurnErrorType',
      type: 'string',
      enum: TURN_FAILURE_TYPES,
      description:
        'The kind of failure. `model_…` and `context_too_long`: the model’s server. `turn_timeout`: the turn took too long. `terminated`: an operator ended it. `internal_error`: a fault of this service.',
    },
    message: described(text, 'An explanation for people. It may change.'),
    retryable: described(flag, 'True if the same message may succeed later.'),
  }),
} as const;

/** A file as recorded in a message or a delivery. */
export type FileSnapshot = FromSchema<typeof file>;
export type SkillSnapshot = FromSchema<typeof skill>;
export type Usage = FromSchema<typeof usage>;
export type UsageDetails = FromSchema<typeof usageDetails>;
export type Timing = FromSchema<typeof timing>;
/** Why a turn completed (decisions.md "Turns and events" `turn.completed`). */
export type StopReason = (typeof STOP_REASONS)[number];
/** Why a turn failed (decisions.md "Turns and events" `turn.failed`). */
export type TurnFailureType = (typeof TURN_FAILURE_TYPES)[number];
