import { Readable } from 'node:stream';
import { ServiceError } from '../../src/platform/errors.js';
import { listSkillFiles, openSkillFile } from '../../src/skills/content.js';
import type { Skill } from '../../src/skills/store.js';
import { FILE_BYTES, sendFile } from '../http/core/download.js';
import { operation } from '../http/core/operation.js';
import { skillOfPath } from './resource.js';
import { unlessLost } from './unless-lost.js';

/** GET /v1/skills/{skill_id}/content: the bytes of one file, read by their range in the stored archive. */
export const skillContent = operation<undefined, Skill>({
  id: 'skillContent',
  summary: 'Read a file of a skill',
  description: 'The content of one file, such as `SKILL.md`.',
  query: {
    type: 'object',
    properties: { path: { type: 'string', description: 'The file, as the list of files shows it.' } },
    required: ['path'],
  },
  success: FILE_BYTES,
  errors: ['skill_not_found', 'not_found', 'too_many_requests', 'storage_error'],
  resource: skillOfPath,
  async handle({ deps: { downloads, storage }, ctx, caller, resource: skill, query }) {
    await downloads.enter(caller.projectId, ctx.res);
    const files = await unlessLost(listSkillFiles(storage, skill));
    const file = files.find(({ path }) => path === query.path);
    if (file === undefined) throw new ServiceError('not_found', 'The skill has no file at this path.');
    const content = file.size === 0 ? Readable.from([]) : await unlessLost(openSkillFile(storage, skill, file));
    sendFile(ctx, file.path, content, file.size);
  },
});
