import { operation } from '../http/core/operation.js';
import { presentSkill, skillSchema } from './present.js';
import { skillOfPath } from './resource.js';

export const getSkill = operation({
  id: 'getSkill',
  summary: 'Get a skill',
  description: 'Shows one skill without the content of its package.',
  success: { status: 200, description: 'The skill.', schema: skillSchema },
  errors: ['skill_not_found'],
  resource: skillOfPath,
  handle: async ({ resource }) => presentSkill(resource),
});
