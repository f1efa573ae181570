import { listErasures as readErasures } from '../../src/erasures/store.js';
import { operation } from '../http/core/operation.js';
import { newestPage, pageSchema } from '../http/core/page.js';
import { erasureSchema, presentErasure } from './present.js';

export const listErasures = operation({
  id: 'listErasures',
  summary: 'List erasures, newest first',
  description: 'Shows who was erased or is being erased. 30 days after its end an erasure no longer names the person.',
  paged: true,
  success: { status: 200, description: 'A page of erasures.', schema: pageSchema(erasureSchema) },
  errors: [],
  handle: ({ deps, caller, query }) =>
    newestPage(query, 'erasures', (page) => readErasures(deps.db, caller.projectId, page), presentErasure),
});
