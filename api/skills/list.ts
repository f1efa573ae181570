import { pageOf } from '../../src/platform/page.js';
import { listSkills as findSkills } from '../../src/skills/store.js';
import { operation } from '../http/core/operation.js';
import { newestFirst, pageSchema } from '../http/core/page.js';
import { presentSkill, skillSchema } from './present.js';

export const listSkills = operation({
  id: 'listSkills',
  summary: 'List skills, newest first',
  paged: true,
  success: { status: 200, description: 'A page of skills.', schema: pageSchema(skillSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const request = newestFirst(query, 'skills');
    const skills = await findSkills(deps.db, caller.projectId, request);
    return pageOf('skills', skills, ({ created_at, id }) => [created_at, id], presentSkill);
  },
});
