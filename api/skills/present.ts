import { described } from '../../src/platform/object-schema.js';
import { count, idField, timestamp } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';

export const { schema: skillSchema, present: presentSkill } = presented(
  'Skill',
  'A package of instructions for the agent.',
  {
    id: idField('skill', 'Id of the skill.'),
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
      description: 'Its name in `SKILL.md`, unique in the project.',
    },
    description: { type: 'string', maxLength: 1024, description: 'When to use it, as `SKILL.md` says.' },
    size_bytes: described(count, 'Size of the package as stored, after normalisation.'),
    created_at: described(timestamp, 'When it was uploaded.'),
  },
  {
    id: 'skill_01kag8w4e5r6t7y8u9i0o1p2a3',
    name: 'order-report',
    description: 'How to write the report about late orders.',
    size_bytes: 4096,
    created_at: '2026-11-21T09:40:00.000001Z',
  },
);
