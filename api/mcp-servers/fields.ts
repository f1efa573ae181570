import type { JsonSchema } from '../http/core/operation.js';

/** Lowercase letters, digits and single hyphens between them. */
export const nameField = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
} as const satisfies JsonSchema;

/** src/mcp/auth checks which fields a type takes and which values a header can carry. */
export const authField = {
  type: 'object',
  description:
    'NONE has no further fields, BEARER needs token, HEADER needs name and value, OAUTH may have client_id, client_secret and scopes.',
  properties: {
    type: { type: 'string', enum: ['NONE', 'BEARER', 'HEADER', 'OAUTH'], default: 'NONE' },
    token: { type: 'string' },
    name: { type: 'string' },
    value: { type: 'string' },
    client_id: {
      type: 'string',
      minLength: 1,
      maxLength: 2048,
      pattern: '^[\\x20-\\x7e]+$',
      description: 'A client registered at the authorization server; without it the service registers one.',
    },
    client_secret: { type: 'string', minLength: 1, maxLength: 8192, pattern: '^[\\x20-\\x7e]+$' },
    scopes: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' },
      maxItems: 100,
      uniqueItems: true,
      description: 'Scopes to request; without it, those in the metadata of the resource.',
    },
  },
  additionalProperties: false,
} as const satisfies JsonSchema;

export const allowedToolsField = {
  type: ['array', 'null'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: 256,
  uniqueItems: true,
} as const satisfies JsonSchema;

export const pinToolsField = {
  type: 'boolean',
  description: 'If true, new and changed tools are held back until POST …/accept-tools accepts them.',
} as const satisfies JsonSchema;
