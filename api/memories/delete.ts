import { transaction } from '../../src/db/transaction.js';
import { memoryNotFound } from '../../src/memories/files.js';
import { deleteMemories, type Memory } from '../../src/memories/store.js';
import { operation } from '../http/core/operation.js';
import { memoryOfPath } from './resource.js';

export const deleteMemory = operation<undefined, Memory>({
  id: 'deleteMemory',
  summary: 'Erase a memory with all versions',
  description:
    'Erases its files and everything that is kept of earlier ones, for good. A turn that is open finds it empty; what it writes then is a new memory. Sessions keep their events until they are deleted.',
  success: { status: 204, description: 'Erased.' },
  errors: ['memory_not_found'],
  resource: memoryOfPath,
  async handle({ deps, resource: { id, project_id }, record }) {
    await transaction(deps.db, async (tx) => {
      const deleted = await deleteMemories(tx, project_id, { id });
      if (deleted.length === 0) throw memoryNotFound();
      await record(tx);
    });
  },
});
