import { removeFile } from '../../src/files/remove.js';
import { operation } from '../http/core/operation.js';
import { fileOfPath } from './resource.js';

export const deleteFile = operation({
  id: 'deleteFile',
  summary: 'Delete a file',
  description: 'Removes the file and its content. Events keep what they say about it.',
  success: { status: 204, description: 'Deleted' },
  errors: ['file_not_found'],
  resource: fileOfPath,
  handle: ({ deps, log, resource, record }) => removeFile(deps.db, deps.storage, resource, log, record),
});
