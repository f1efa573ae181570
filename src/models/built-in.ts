import type { ModelEntry } from './entry.js';

/** What is offered when an account's models cannot be listed. Sizes are what every account gets, or less. */
export const BUILT_IN_MODELS: ModelEntry[] = [
  {
    id: 'claude-opus-5-5',
    display_name: 'Claude Opus 5.5',
    model: 'claude-opus-5-5',
    context_window: 200_000,
    max_output_tokens: 64_000,
    supports_thinking: true,
    thinking: 'adaptive',
  },
  {
    id: 'claude-sonnet-5-5',
    display_name: 'Claude Sonnet 5.5',
    model: 'claude-sonnet-5-5',
    context_window: 200_000,
    max_output_tokens: 64_000,
    supports_thinking: true,
    thinking: 'adaptive',
  },
  {
    id: 'claude-haiku-4-5',
    display_name: 'Claude Haiku 4.5',
    model: 'claude-haiku-4-5',
    context_window: 200_000,
    max_output_tokens: 64_000,
    supports_thinking: true,
    thinking: 'budget',
  },
];
