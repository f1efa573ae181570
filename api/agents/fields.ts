import type { JsonSchema } from '../http/core/operation.js';

export const nameField = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  description: 'Its name, unique in the project: lowercase letters, digits and single hyphens. It never changes.',
} as const satisfies JsonSchema;

export const descriptionField = {
  type: 'string',
  maxLength: 1024,
  description: 'What it is for.',
} as const satisfies JsonSchema;

/** As of a session: 64 tools with schemas of 1,500 values each. */
export const MAX_AGENT_VALUES = 100_000;
