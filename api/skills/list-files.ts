import { listSkillFiles } from '../../src/skills/content.js';
import type { Skill } from '../../src/skills/store.js';
import { described } from '../../src/platform/object-schema.js';
import { count, text } from '../../src/platform/schema-fields.js';
import { operation } from '../http/core/operation.js';
import { filteredList, pageOfItems, pageRequest, pageSchema } from '../http/core/page.js';
import { presented } from '../http/core/presenter.js';
import { skillOfPath } from './resource.js';
import { unlessLost } from './unless-lost.js';

const file = presented(
  'SkillFile',
  'A file of a skill.',
  {
    path: described(text, 'Its path from the skill’s folder.'),
    size_bytes: described(count, 'Its size in bytes.'),
  },
  { path: 'SKILL.md', size_bytes: 1204 },
);

export const listFilesOfSkill = operation<undefined, Skill>({
  id: 'listSkillFiles',
  summary: 'List the files of a skill, in the order of their paths',
  description: 'Shows what the agent finds in the skill: `SKILL.md` and the files beside it.',
  paged: true,
  success: { status: 200, description: 'A page of files.', schema: pageSchema(file.schema) },
  errors: ['skill_not_found', 'storage_error'],
  resource: skillOfPath,
  async handle({ deps: { storage }, resource: skill, query }) {
    const list = filteredList('skill_files', skill.id);
    const request = pageRequest(query, list, 1);
    const files = await unlessLost(listSkillFiles(storage, skill));
    return pageOfItems(list, request, files, {
      nameOf: ({ path }) => path,
      present: ({ path, size }) => file.present({ path, size_bytes: size }),
      // The files of a skill never change: a cursor of this list has its file.
      gone: 'The cursor is not one of this list. Start again without it.',
    });
  },
});
