import type { Skill } from '../../src/skills/store.js';
import type { JsonSchema } from '../http/core/operation.js';

export const skillSchema = {
  $id: 'Skill',
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^skill_' },
    name: { type: 'string', minLength: 1, maxLength: 64, pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' },
    description: { type: 'string', maxLength: 1024 },
    size_bytes: { type: 'integer', description: 'Size of the package as stored, after normalisation.' },
    created_at: { type: 'string', format: 'date-time' },
  },
  required: ['id', 'name', 'description', 'size_bytes', 'created_at'],
  additionalProperties: false,
} as const satisfies JsonSchema;

export function presentSkill({ id, name, description, size_bytes, created_at }: Skill): Record<string, unknown> {
  return { id, name, description, size_bytes, created_at };
}
