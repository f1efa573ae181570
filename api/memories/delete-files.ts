import { transaction } from '../../src/db/transaction.js';
import { memoryNotFound } from '../../src/memories/files.js';
import { eraseFiles, lockMemory, type Memory } from '../../src/memories/store.js';
import { operation } from '../http/core/operation.js';
import { checkPath, memoryFileNotFound, memoryOfPath } from './resource.js';

export const deleteMemoryFiles = operation<undefined, Memory>({
  id: 'deleteMemoryFiles',
  summary: 'Erase a file of a memory, or a folder with all in it',
  description:
    'Erases it for good, with all its versions, also those that it had under other paths. A path that only versions have can be erased, too.',
  query: {
    type: 'object',
    properties: { path: { type: 'string', description: 'The file or folder.' } },
    required: ['path'],
  },
  success: { status: 204, description: 'Erased.' },
  errors: ['memory_not_found', 'memory_file_not_found', 'validation_error'],
  resource: memoryOfPath,
  async handle({ deps, resource, query, record }) {
    const path = checkPath(query.path!, '/query/path');
    await transaction(deps.db, async (tx) => {
      const memory = await lockMemory(tx, resource.id);
      if (memory === null) throw memoryNotFound();
      if (!(await eraseFiles(tx, memory, path))) throw memoryFileNotFound();
      await record(tx);
    });
  },
});
