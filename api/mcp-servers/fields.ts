import type { JsonSchema } from '../http/operation.js';

/** Lowercase letters, digits and single hyphens (spec.md "MCP server": name); a hyphen joins, so none at an end. */
export const nameField = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
} as const satisfies JsonSchema;

/** Which fields a type takes, and what can go into a header, is checked by src/mcp/auth. */
export const authField = {
  type: 'object',
  description: 'NONE takes no field, BEARER takes token, HEADER takes name and value.',
  properties: {
    type: { type: 'string', enum: ['NONE', 'BEARER', 'HEADER'], default: 'NONE' },
    token: { type: 'string' },
    name: { type: 'string' },
    value: { type: 'string' },
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
  description: 'Holds back tools that are new or have changed until POST …/accept-tools accepts them.',
} as const satisfies JsonSchema;
