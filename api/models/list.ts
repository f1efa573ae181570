import { ServiceError } from '../../src/platform/errors.js';
import { pageOf } from '../../src/platform/page.js';
import { operation } from '../http/core/operation.js';
import { pageRequest, pageSchema } from '../http/core/page.js';
import { modelSchema, presentModel } from './present.js';

export const listModels = operation({
  id: 'listModels',
  summary: 'List the available models',
  description: 'Shows what can be a session’s `model_id`, with context windows and prices.',
  paged: true,
  success: {
    status: 200,
    description: 'A page of models, in the order of the catalogue.',
    schema: pageSchema(modelSchema),
  },
  errors: [],
  async handle({ deps, query }) {
    const { limit, after } = pageRequest(query, 'models', 1);
    const models = [...deps.models.values()];
    const start = after === null ? 0 : positionAfter(models, after[0]!);
    const rows = models.slice(start, start + limit);
    return pageOf('models', { rows, hasMore: start + limit < models.length }, ({ id }) => [id], presentModel);
  },
});

function positionAfter(models: { id: string }[], id: string): number {
  const index = models.findIndex((model) => model.id === id);
  if (index >= 0) return index + 1;
  throw new ServiceError(
    'invalid_cursor',
    'The models have changed since this cursor was given. Start again without it.',
  );
}
