import { transaction } from '../../src/db/transaction.js';
import { removeArchive } from '../../src/skills/content.js';
import { skillNotFound, softDeleteSkill } from '../../src/skills/store.js';
import { operation } from '../http/core/operation.js';
import { skillOfPath } from './resource.js';

export const deleteSkill = operation({
  id: 'deleteSkill',
  summary: 'Delete a skill: later messages cannot select it, and its name is free again',
  description:
    'Removes the skill and its package. Events keep what they say about it. A turn that selected it can no longer load it.',
  success: { status: 204, description: 'Deleted.' },
  errors: ['skill_not_found'],
  resource: skillOfPath,
  async handle({ deps, resource, record, log }) {
    await transaction(deps.db, async (tx) => {
      if (!(await softDeleteSkill(tx, resource.id))) throw skillNotFound([resource.id]);
      await record(tx);
    });
    await removeArchive({ storage: deps.storage, log }, resource.storage_key);
  },
});
