import { listKeysOf } from '../../src/projects/keys-of-project.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { keySchema, presentKey } from './present.js';

export const listKeys = operation({
  id: 'listKeys',
  summary: 'List the keys of the project, newest first',
  description: 'Shows all keys without their secrets, revoked and expired ones too.',
  paged: true,
  success: { status: 200, description: 'A page of keys.', schema: pageSchema(keySchema) },
  errors: [],
  handle: ({ deps, caller, query }) =>
    newestPage(
      query,
      'keys',
      (page) => listKeysOf(deps.db, caller.projectId, page),
      (key) => presentKey({ ...key }),
    ),
});
