import { findErasure } from '../../src/erasures/store.js';
import { ServiceError } from '../../src/platform/errors.js';
import { operation } from '../http/core/operation.js';
import { resourceOfPath } from '../http/core/resource.js';
import { erasureSchema, presentErasure } from './present.js';

const erasureOfPath = resourceOfPath(
  'erasure_id',
  findErasure,
  () => new ServiceError('erasure_not_found', 'There is no such erasure.'),
);

export const getErasure = operation({
  id: 'getErasure',
  summary: 'Get an erasure',
  description: 'Shows what is gone so far, and whether it is done.',
  success: { status: 200, description: 'The erasure.', schema: erasureSchema },
  errors: ['erasure_not_found'],
  resource: erasureOfPath,
  handle: async ({ resource }) => presentErasure(resource),
});
