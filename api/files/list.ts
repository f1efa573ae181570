import { listFiles as filesOf, type FileFilter, type FileOrigin } from '../../src/files/store.js';
import { described } from '../../src/platform/object-schema.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { fileSchema, originSchema, presentFile } from './present.js';

export const listFiles = operation({
  id: 'listFiles',
  summary: 'List files, newest first',
  description: 'Shows uploaded files and files that the agent delivered.',
  paged: true,
  query: {
    type: 'object',
    properties: {
      session_id: { type: 'string', description: 'Only files that the agent delivered in this session.' },
      origin: described(originSchema, 'Only files of this origin.'),
    },
  },
  success: { status: 200, description: 'A page of files.', schema: pageSchema(fileSchema) },
  errors: ['validation_error', 'invalid_cursor'],
  async handle({ deps, caller, query }) {
    const filter: FileFilter = { sessionId: query.session_id, origin: query.origin as FileOrigin | undefined };
    const list = `files ${filter.origin ?? ''} ${filter.sessionId ?? ''}`;
    return newestPage(query, list, (page) => filesOf(deps.db, caller.projectId, filter, page), presentFile);
  },
});
