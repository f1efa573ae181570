import type { FromSchema } from 'json-schema-to-ts';
import { described, objectSchema } from '../platform/object-schema.js';

const text = { type: 'string', minLength: 1 } as const;
const rate = { type: 'number', format: 'double', minimum: 0 } as const;

/** What a million tokens cost. */
export const PRICE_SCHEMA = {
  $id: 'ModelPrice',
  description: 'What a million tokens of a model cost.',
  ...objectSchema({
    currency: { type: 'string', pattern: '^[A-Z]{3}$', description: 'Three letters, such as `USD`.' },
    input: described(rate, 'A million input tokens that are neither read from a cache nor written to it.'),
    output: described(rate, 'A million output tokens.'),
    cache_read: described(rate, 'A million input tokens that are read from a cache.'),
    cache_write: described(rate, 'A million input tokens that are written to a cache.'),
  }),
} as const;

/** An entry of MODELS_FILE: a model that sessions can use. It names where its credentials are, and never contains them. */
export const MODEL_ENTRY_SCHEMA = {
  type: 'object',
  properties: {
    id: text,
    display_name: text,
    /** The model's name at its API. */
    model: text,
    provider: {
      anyOf: [
        { const: 'anthropic' },
        providerSchema('google_vertex', 'region'),
        providerSchema('google_cloud', 'workspace_id'),
      ],
    },
    /** As in the SDK of the provider: without `/v1` for Anthropic, with it for Vertex. */
    base_url: { ...text, pattern: '^https?://[^\\s]+$' },
    /** The environment variable with the key. */
    api_key_env: text,
    /** Tokens from Anthropic in exchange for an identity token, instead of a key. */
    credentials: { const: 'federated' },
    context_window: { type: 'integer', minimum: 1 },
    max_output_tokens: { type: 'integer', minimum: 1 },
    supports_thinking: { type: 'boolean' },
    /** How to request thinking; absent: by token budget, if the model supports thinking. */
    thinking: { type: 'string', enum: ['adaptive', 'budget', 'none'] },
    price: PRICE_SCHEMA,
  },
  required: ['id', 'display_name', 'model', 'context_window', 'max_output_tokens', 'supports_thinking'],
  additionalProperties: false,
} as const;

function providerSchema<Name extends string, Place extends string>(name: Name, place: Place) {
  const fields = { project: text, [place]: text } as { [field in Place | 'project']: typeof text };
  const where = {
    type: 'object',
    properties: fields,
    required: ['project', place],
    additionalProperties: false,
  } as const;
  return {
    type: 'object',
    properties: { [name]: where } as { [field in Name]: typeof where },
    required: [name],
    additionalProperties: false,
  } as const;
}

export type ModelEntry = FromSchema<typeof MODEL_ENTRY_SCHEMA>;
