import { presented, timestamp } from '../http/core/presenter.js';

export const { schema: skillSchema, present: presentSkill } = presented('Skill', {
  id: { type: 'string', pattern: '^skill_' },
  name: { type: 'string', minLength: 1, maxLength: 64, pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' },
  description: { type: 'string', maxLength: 1024 },
  size_bytes: { type: 'integer', description: 'Size of the package as stored, after normalisation.' },
  created_at: timestamp,
});
