import { confirmationResult, elicitationAnswer, elicitationContent, remember } from '../../src/events/own-fields.js';
import { answerEventSchema } from '../../src/events/schema.js';
import { described, objectSchema, orNull } from '../../src/platform/object-schema.js';
import { anyObject, flag, text } from '../../src/platform/schema-fields.js';
import type { JsonSchema } from '../http/core/operation.js';

const MAX_EVENTS = 50;
const toolUseId = described(text, 'A tool_use_id in required_actions.');
const actor = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  description: 'Who decided: any text, stored in the event.',
} as const;

const answer = {
  $id: 'Answer',
  description: 'The answer to something that `required_actions` lists.',
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    {
      $id: 'ToolConfirmationAnswer',
      description: 'Allows or denies a call.',
      ...objectSchema(
        { type: { const: 'user.tool_confirmation' }, tool_use_id: toolUseId, result: confirmationResult },
        {
          deny_message: {
            type: ['string', 'null'],
            maxLength: 1000,
            description: 'Only with deny: a message for the agent.',
          },
          input: orNull(
            anyObject,
            'Only with allow: what the call runs with, in place of what the model wrote. It has to fit the input schema of the tool; at most 256 KiB as compact JSON.',
          ),
          remember: described(
            remember,
            'Only with allow, and without a changed input: `session` lets later calls of this tool in this session run without asking, as long as its description, schema and annotations stay. At most 100 tools of a session.',
          ),
          actor,
        },
      ),
    },
    {
      $id: 'CustomToolResultAnswer',
      description: 'Gives the result of a custom tool’s call.',
      ...objectSchema(
        {
          type: { const: 'user.custom_tool_result' },
          tool_use_id: toolUseId,
          content: { type: 'string', maxLength: 100_000, description: 'The result, for the model.' },
        },
        { is_error: described(flag, 'True if the tool failed; `content` then says why.'), actor },
      ),
    },
    {
      $id: 'ElicitationResultAnswer',
      description: 'Answers a question of an MCP server.',
      ...objectSchema(
        {
          type: { const: 'user.elicitation_result' },
          elicitation_id: described(text, 'An elicitation_id in required_actions.'),
          action: elicitationAnswer,
        },
        {
          content: orNull(elicitationContent, 'Only with accept of a form: it has to fit requested_schema.'),
          actor,
        },
      ),
    },
  ],
} as const;

export const newAnswersBody = {
  $id: 'NewAnswers',
  description: 'Answers to a turn that waits.',
  ...objectSchema({
    events: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_EVENTS,
      items: answer,
      description: 'The answers: all of them are stored, or none.',
    },
  }),
  examples: [
    {
      events: [
        {
          type: 'user.tool_confirmation',
          tool_use_id: 'toolu_01A09q90qw90lq917835lq9',
          result: 'allow',
          actor: 'jane@example.com',
        },
      ],
    },
  ],
} as const satisfies JsonSchema;

export const storedAnswersSchema = {
  $id: 'StoredAnswers',
  description: 'The answers as events.',
  ...objectSchema({
    items: { type: 'array', items: answerEventSchema, description: 'The stored events, in the order of the answers.' },
  }),
  examples: [
    {
      items: [
        {
          id: 'evt_01kag8z9f1e2d3c4b5a6978877',
          type: 'user.tool_confirmation',
          turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
          created_at: '2026-11-21T09:48:31.000001Z',
          tool_use_id: 'toolu_01A09q90qw90lq917835lq9',
          result: 'allow',
          deny_message: null,
          input: null,
          remember: null,
          actor: 'jane@example.com',
        },
      ],
    },
  ],
} as const satisfies JsonSchema;
