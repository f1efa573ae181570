import { operation } from '../http/core/operation.js';
import { fileOfPath } from './resource.js';
import { fileSchema, presentFile } from './present.js';

export const getFile = operation({
  id: 'getFile',
  summary: 'Get a file',
  description: 'Shows name, type and size of a file.',
  success: { status: 200, description: 'The file', schema: fileSchema },
  errors: ['file_not_found'],
  resource: fileOfPath,
  handle: async ({ resource }) => presentFile(resource),
});
