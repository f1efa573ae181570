import type { ModelEntry } from '../../src/models/catalogue.js';
import { PRICE_SCHEMA } from '../../src/models/entry.js';
import { presented } from '../http/core/presenter.js';

const model = presented(
  'Model',
  {
    id: { type: 'string' },
    display_name: { type: 'string' },
    context_window: { type: 'integer' },
    max_output_tokens: { type: 'integer' },
    supports_thinking: { type: 'boolean' },
    price: { ...PRICE_SCHEMA, type: ['object', 'null'], description: 'Per million tokens; null if unknown.' },
  },
  [
    {
      id: 'claude-sonnet-5-5',
      display_name: 'Claude Sonnet 5.5',
      context_window: 200_000,
      max_output_tokens: 64_000,
      supports_thinking: true,
      price: { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
    },
  ],
);
export const { schema: modelSchema } = model;

/** Its API address and key are not shown. */
export function presentModel(entry: ModelEntry): Record<string, unknown> {
  return model.present({ ...entry, price: entry.price ?? null });
}
