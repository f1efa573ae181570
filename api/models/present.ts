import type { ModelEntry } from '../../src/models/catalogue.js';
import type { JsonSchema } from '../http/core/operation.js';

/** A model that sessions can use (contract.md §2). */
export const modelSchema = {
  $id: 'Model',
  type: 'object',
  properties: {
    id: { type: 'string' },
    display_name: { type: 'string' },
    context_window: { type: 'integer' },
    max_output_tokens: { type: 'integer' },
    supports_thinking: { type: 'boolean' },
  },
  required: ['id', 'display_name', 'context_window', 'max_output_tokens', 'supports_thinking'],
  additionalProperties: false,
  examples: [
    {
      id: 'claude-sonnet-5-5',
      display_name: 'Claude Sonnet 5.5',
      context_window: 200_000,
      max_output_tokens: 64_000,
      supports_thinking: true,
    },
  ],
} as const satisfies JsonSchema;

/** The model as clients see it. Its API address and key are not shown. */
export function presentModel(entry: ModelEntry): Record<string, unknown> {
  const { id, display_name, context_window, max_output_tokens, supports_thinking } = entry;
  return { id, display_name, context_window, max_output_tokens, supports_thinking };
}
