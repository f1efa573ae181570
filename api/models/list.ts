import { operation } from '../http/core/operation.js';
import { pageOfItems, pageRequest, pageSchema } from '../http/core/page.js';
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
    return pageOfItems('models', pageRequest(query, 'models', 1), [...deps.models.values()], {
      nameOf: ({ id }) => id,
      present: presentModel,
      gone: 'The models have changed since this cursor was given. Start again without it.',
    });
  },
});
