import { operation } from '../http/core/operation.js';
import { keySchema, presentKey } from './present.js';
import { keyOfPath } from './resource.js';

export const getKey = operation({
  id: 'getKey',
  summary: 'Get a key, without its secret',
  description: 'Shows what a key may do, who made it, and when it was last used.',
  success: { status: 200, description: 'The key.', schema: keySchema },
  errors: ['key_not_found'],
  resource: keyOfPath,
  handle: async ({ resource }) => presentKey({ ...resource }),
});
