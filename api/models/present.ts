import type { ModelEntry } from '../../src/models/catalogue.js';
import { PRICE_SCHEMA } from '../../src/models/entry.js';
import { described, orNull } from '../../src/platform/object-schema.js';
import { count, flag, text } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';

const model = presented(
  'Model',
  'A model that sessions can use.',
  {
    id: described(text, 'Send it as `model_id`.'),
    display_name: described(text, 'Its name for people.'),
    context_window: described(count, 'How many tokens a request and its answer may have together.'),
    max_output_tokens: described(count, 'How many tokens an answer may have.'),
    supports_thinking: described(flag, 'Whether it can think before it answers.'),
    price: orNull(PRICE_SCHEMA, 'Per million tokens; null if unknown.'),
  },
  {
    id: 'claude-sonnet-5-5',
    display_name: 'Claude Sonnet 5.5',
    context_window: 200_000,
    max_output_tokens: 64_000,
    supports_thinking: true,
    price: { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
  },
);
export const { schema: modelSchema } = model;

/** Its API address and key are not shown. */
export function presentModel(entry: ModelEntry): Record<string, unknown> {
  return model.present({ ...entry, price: entry.price ?? null });
}
