import { listFiles as filesOf, type FileFilter, type FileOrigin } from '../../src/files/store.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { fileSchema, presentFile } from './present.js';

export const listFiles = operation({
  id: 'listFiles',
  summary: 'List files, newest first',
  paged: true,
  query: {
    type: 'object',
    properties: {
      session_id: { type: 'string', description: 'Only files that the agent delivered in this session' },
      origin: { type: 'string', enum: ['UPLOAD', 'OUTPUT'] },
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
