import type { ModelEntry } from './entry.js';

/** The models offered if an account's models cannot be listed. Each limit is at most what every account has. */
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
