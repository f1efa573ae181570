import { listFiles } from '../../src/memories/files.js';
import type { Memory } from '../../src/memories/store.js';
import { pageOf } from '../../src/platform/page.js';
import { operation } from '../http/core/operation.js';
import { filteredList, pageRequest, pageSchema } from '../http/core/page.js';
import { memoryFileSchema, presentMemoryFile } from './present.js';
import { checkPath, memoryOfPath } from './resource.js';

export const listMemoryFiles = operation<undefined, Memory>({
  id: 'listMemoryFiles',
  summary: 'List the files of a memory, in the order of their paths',
  description: 'Shows the files below a folder, of all levels, and who wrote each last.',
  paged: true,
  query: {
    type: 'object',
    properties: { path: { type: 'string', description: 'The folder. Default: `/`, the whole memory.' } },
  },
  success: { status: 200, description: 'A page of files.', schema: pageSchema(memoryFileSchema) },
  errors: ['memory_not_found', 'validation_error', 'invalid_cursor'],
  resource: memoryOfPath,
  async handle({ deps, resource, query }) {
    const folder = query.path === undefined || query.path === '/' ? '/' : checkPath(query.path, '/query/path');
    const list = filteredList('memory-files', [resource.id, folder]);
    const rows = await listFiles(deps.db, resource.id, folder, pageRequest(query, list, 1));
    return pageOf(list, rows, ({ path }) => [path], presentMemoryFile);
  },
});
