import { listVersions } from '../../src/memories/files.js';
import type { Memory } from '../../src/memories/store.js';
import { pageOf } from '../../src/platform/page.js';
import { operation } from '../http/core/operation.js';
import { filteredList, numbersOf, pageRequest, pageSchema } from '../http/core/page.js';
import { memoryVersionSchema, presentMemoryVersion } from './present.js';
import { checkPath, memoryOfPath } from './resource.js';

export const listMemoryVersions = operation<undefined, Memory>({
  id: 'listMemoryVersions',
  summary: 'List what changed in a memory, newest first',
  description: 'Shows which file each version created, modified or deleted, and by which turn or key.',
  paged: true,
  query: {
    type: 'object',
    properties: { path: { type: 'string', description: 'Only of the file at this path.' } },
  },
  success: { status: 200, description: 'A page of versions.', schema: pageSchema(memoryVersionSchema) },
  errors: ['memory_not_found', 'validation_error', 'invalid_cursor'],
  resource: memoryOfPath,
  async handle({ deps, resource, query }) {
    const path = query.path === undefined ? undefined : checkPath(query.path, '/query/path');
    const list = filteredList('memory-versions', [resource.id, path]);
    const { limit, after } = pageRequest(query, list, 2);
    const from = after === null ? null : { version: numbersOf([after[0]!])[0]!, path: after[1]! };
    const rows = await listVersions(deps.db, resource.id, path, { limit, after: from });
    return pageOf(list, rows, (row) => [String(row.version), row.path], presentMemoryVersion);
  },
});
