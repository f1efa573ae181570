import { listSkills as findSkills } from '../../src/skills/store.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { presentSkill, skillSchema } from './present.js';

export const listSkills = operation({
  id: 'listSkills',
  summary: 'List skills, newest first',
  description: 'Shows the skills that messages can select.',
  paged: true,
  success: { status: 200, description: 'A page of skills.', schema: pageSchema(skillSchema) },
  errors: [],
  handle: ({ deps, caller, query }) =>
    newestPage(query, 'skills', (page) => findSkills(deps.db, caller.projectId, page), presentSkill),
});
